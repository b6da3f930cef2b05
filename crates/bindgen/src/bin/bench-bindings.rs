//! `cargo bench-bindings`: builds the library as it ships, tells its size, and lets the Swift package
//! and the Kotlin library measure what crossing the border costs. The numbers are ratios and shares,
//! since absolute times say more about the machine.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to be told when this fails.
            let _ = writeln!(std::io::stderr().lock(), "bench-bindings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut understudy = Command::new(&cargo);
    call(understudy.args(["build", "--quiet", "-p", "understudy"]))?;
    call(&mut Command::new("bindings/library.sh"))?;
    let target = std::env::current_dir()?.join("target");
    let (folder, programs) = (target.join("small"), target.join("debug"));
    let library = format!(
        "{}bowline_ffi{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let bytes = std::fs::metadata(folder.join(library))?.len();
    let size = format!("library: {:.2} MB, stripped", bytes as f64 / 1e6);
    writeln!(std::io::stdout().lock(), "{size}")?;
    kotlin(&folder, &programs)?;
    swift(&folder, &programs)
}

fn kotlin(folder: &Path, programs: &Path) -> Result<(), Failure> {
    let target = format!("-Dcargo.target={}", folder.display());
    let programs = format!("-Dcargo.programs={}", programs.display());
    let mut kotlin = Command::new(".ci/kotlin");
    call(
        kotlin
            .args(["test", "-Dtest=BenchTest", "-Dbowline.bench=true"])
            .args([target, programs]),
    )
}

fn swift(folder: &Path, programs: &Path) -> Result<(), Failure> {
    let mut swift = Command::new(".ci/swift");
    swift.env("BOWLINE_LIBRARY_PATH", folder);
    swift.args(["run", "--disable-sandbox", "-c", "release", "Bench"]);
    call(swift.arg(programs.join("understudy")))
}

fn call(command: &mut Command) -> Result<(), Failure> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{} failed with {status}", command.get_program().display()).into())
}
