//! The generated code in `src/api/grpc/` is up to date with `proto/runner.proto`.
//!
//! `BLESS=1 cargo test -p bowline-runner --test api proto` updates it.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = protox::compile(["runner.proto"], [root.join("proto")]).unwrap();
    let out = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .build_transport(false)
        .bytes(".")
        .out_dir(out.path())
        .compile_fds(files)
        .unwrap();
    let generated = fs::read_to_string(out.path().join("bowline.runner.v1.rs")).unwrap();
    let kept = root.join("src/api/grpc/generated.rs");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&kept, &generated).unwrap();
    }
    let kept = fs::read_to_string(kept).unwrap();
    assert!(
        kept == generated,
        "outdated; run the test with BLESS=1 and commit the result"
    );
}
