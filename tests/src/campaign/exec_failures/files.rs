//! Files that cannot be executed.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use bowline_transport::{Configuration, SpawnError};

use super::{Way, is};

/// Resources that must stay open during the test.
pub(super) struct Open {
    _written: File,
    _socket: UnixListener,
}

/// Offset of `e_machine` in an ELF header, and a value that no machine has (elf(5)).
const MACHINE: usize = 18;
const NO_MACHINE: u8 = 0x63;

/// Prefix of the loader's path in this machine's programs.
const LOADER: &[u8] = b"/ld-linux";

pub(super) fn make(folder: &Path) -> io::Result<Open> {
    let program = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content)?;
        fs::set_permissions(path, Permissions::from_mode(0o755))
    };
    fs::write(folder.join("plain"), "#!/bin/sh\n")?;
    fs::create_dir(folder.join("folder"))?;
    symlink("missing", folder.join("dangling"))?;
    symlink("loop", folder.join("loop"))?;
    program("empty", b"")?;
    program("text", b"echo hello\n")?;
    program("no-interpreter", b"#!/no/such/interpreter\n")?;
    program("below-a-file", script(folder, "plain/x").as_bytes())?;
    program("by-a-folder", script(folder, "folder").as_bytes())?;
    program("by-a-plain-file", script(folder, "plain").as_bytes())?;
    program("by-nothing", b"#!\n")?;
    program("script-0", b"#!/bin/sh\n")?;
    for depth in 1..8 {
        let before = format!("script-{}", depth - 1);
        program(
            &format!("script-{depth}"),
            script(folder, &before).as_bytes(),
        )?;
    }
    elves(&fs::read("/bin/true")?, program)?;
    let written = folder.join("written");
    fs::copy("/bin/true", &written)?;
    Ok(Open {
        _written: File::options().append(true).open(written)?,
        _socket: UnixListener::bind(folder.join("socket"))?,
    })
}

fn script(folder: &Path, interpreter: &str) -> String {
    format!("#!{}\n", folder.join(interpreter).display())
}

/// Executables of this machine, each damaged in one way.
fn elves(whole: &[u8], program: impl Fn(&str, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut other = whole.to_vec();
    other[MACHINE] = NO_MACHINE;
    program("other-machine", &other)?;
    let mut lost = whole.to_vec();
    let at = lost
        .windows(LOADER.len())
        .position(|window| window == LOADER);
    let at = at.ok_or(io::ErrorKind::InvalidData)?;
    lost[at + 1] = b'X';
    program("no-loader", &lost)?;
    program("cut", &whole[..64])?;
    program("magic", b"\x7fELF")
}

pub(super) fn ways(folder: &Path, _open: &Open) -> Vec<Way> {
    let at = |name: &'static str, is_right| Way {
        name,
        configuration: Configuration::new(folder.join(name)),
        is_right,
    };
    let long_part = "x".repeat(300);
    let long_path = "x/".repeat(2_500);
    let named = |name, program: String, is_right| Way {
        name,
        configuration: Configuration::new(program),
        is_right,
    };
    let mut unlucky = Configuration::new("plain");
    unlucky.env.set("PATH", folder);
    vec![
        at("missing", is!(SpawnError::NotFound { path: None, .. })),
        at("plain", is!(SpawnError::NotExecutable { .. })),
        at("folder", is!(SpawnError::NotExecutable { .. })),
        at("socket", is!(SpawnError::NotExecutable { .. })),
        at("dangling", is!(SpawnError::NotFound { .. })),
        at("loop", is!(SpawnError::TooManyLinks { .. })),
        at("plain/below", is!(SpawnError::NotFound { .. })),
        at("empty", is!(SpawnError::BadFormat { .. })),
        at("text", is!(SpawnError::BadFormat { .. })),
        at("no-interpreter", is!(SpawnError::MissingInterpreter { .. })),
        at("below-a-file", is!(SpawnError::MissingInterpreter { .. })),
        at("by-a-folder", is!(SpawnError::NotExecutable { .. })),
        at("by-a-plain-file", is!(SpawnError::NotExecutable { .. })),
        at("by-nothing", is!(SpawnError::BadFormat { .. })),
        at("script-7", is!(SpawnError::TooManyLinks { .. })),
        at("other-machine", is!(SpawnError::BadFormat { .. })),
        at("no-loader", is!(SpawnError::MissingInterpreter { .. })),
        at("cut", is!(SpawnError::BadFormat { .. })),
        at("magic", is!(SpawnError::BadFormat { .. })),
        at("written", is!(SpawnError::Busy { .. })),
        named(
            "a long part",
            format!("/{long_part}"),
            is!(SpawnError::NameTooLong { .. }),
        ),
        named(
            "a long path",
            format!("/{long_path}"),
            is!(SpawnError::NameTooLong { .. }),
        ),
        named(
            "no such name",
            "no-such-program".into(),
            is!(SpawnError::NotFound { path: Some(_), .. }),
        ),
        named(
            "a device",
            "/dev/null".into(),
            is!(SpawnError::NotExecutable { .. }),
        ),
        Way {
            name: "plain in PATH",
            configuration: unlucky,
            is_right: is!(SpawnError::NotExecutable { .. }),
        },
    ]
}
