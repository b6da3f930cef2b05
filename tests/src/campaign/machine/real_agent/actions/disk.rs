//! The runner's disk fills up while the agent writes.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::{is_on_terminal, send, settled, shims, url};
use crate::campaign::Random;
use crate::campaign::machine::real_agent::judge::{Completeness, whole};
use crate::campaign::machine::real_agent::stage::{Conversation, Theatre, end};
use crate::campaign::machine::station::Station;

/// Free bytes that remain for a journal on a disk of one mebibyte.
const LEFT: usize = 64 << 10;

/// A runner whose state is on such a disk. Dropping it ends every process before the disk is
/// unmounted.
struct Full {
    station: Station,
    at: PathBuf,
}

impl Full {
    async fn new() -> Result<Option<Self>, String> {
        let mut station = Station::with_copy()?;
        let at = station.folder().join("state");
        fs::create_dir(&at).map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "bowline"]);
        let done = mount.arg(&at).output().await;
        if !done.is_ok_and(|done| done.status.success()) {
            return Ok(None);
        }
        fs::write(at.join("filler"), vec![0; (1 << 20) - LEFT])
            .map_err(|error| error.to_string())?;
        station.start().await?;
        Ok(Some(Self { station, at }))
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        self.station.kill_all();
        // A process that is exiting may still have a file open there.
        let mut umount = std::process::Command::new("umount");
        let _ = umount.arg("-l").arg(&self.at).status();
    }
}

pub(super) async fn full(theatre: &Theatre, random: &mut Random) -> Result<Completeness, String> {
    let pty = is_on_terminal(random);
    let calm = theatre.calm(Conversation::LongText, pty).await?;
    let mut stage = theatre.stage(Conversation::LongText, pty)?;
    let full = Full::new().await?;
    let full = full.ok_or("a file system of 1 MiB cannot be mounted here")?;
    stage.order.runner = Some(url(&full.station));
    stage.go_on();
    let session = stage.order.start().await?;
    let shims = shims(&full.station)?;
    let mut receipt = send(&session, &stage.order.prompt).await?;
    settled(&mut receipt).await?;
    // A write that does not fit as a whole leaves the room that there was.
    if room(&full.at)? > LEFT as u64 / 2 {
        return Err("the disk did not run full".to_owned());
    }
    let found = end(&stage, &session).await?;
    stage.no_process_is_left(&shims).await?;
    whole(&found, &calm.transcript)
}

/// Free space in bytes.
fn room(at: &Path) -> Result<u64, String> {
    let found = rustix::fs::statvfs(at).map_err(|error| error.to_string())?;
    Ok(found.f_bavail * found.f_frsize)
}
