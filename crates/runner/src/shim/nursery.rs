//! Where shims come from without being loaded: a process that has loaded the program once, has one
//! thread, and makes a copy of itself for each.
//!
//! To load a program takes a millisecond and more, most of it in the dynamic linker. A nursery is the
//! shim's program whose first word is [`NURSERY`]. It is given one end of a socket for each shim, and
//! ends when its own is closed. A shim outlives it, as it outlives everybody.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use bowline_transport::{prepare_copies, start_copy};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, recvmsg, sendmsg,
};
use tokio::process::Command;

use super::spawn::ShimProgram;
use crate::quiet::NO_SIGNAL;

/// In place of the length of an order: there will be many.
pub(super) const NURSERY: u32 = 0;

/// A nursery, as long as somebody holds it.
#[derive(Debug)]
pub(super) struct Nursery {
    control: UnixStream,
}

impl Nursery {
    fn start(program: &ShimProgram) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        let mut child = Command::new(&program.path)
            .args(&program.args)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // It ends when `control` is dropped.
        tokio::spawn(async move { child.wait().await });
        (&control).write_all(&NURSERY.to_le_bytes())?;
        control.set_nonblocking(true)?;
        Ok(Self { control })
    }

    /// Lets a shim be made that is talked to over the other end of `link`. Who hears nothing from it
    /// has to go another way.
    pub(super) fn ask(&self, link: &OwnedFd) -> io::Result<()> {
        let links = [link.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&links));
        let word = [IoSlice::new(&[1])];
        sendmsg(&self.control, &word, &mut ancillary, NO_SIGNAL)?;
        Ok(())
    }
}

/// The nursery of a daemon: made when it is first needed, and again when it is gone.
#[derive(Debug, Default)]
pub(crate) struct Nurseries(Mutex<Option<Arc<Nursery>>>);

impl Nurseries {
    /// To be called in a tokio runtime with I/O enabled. None where a process cannot tell that it has
    /// one thread.
    pub(super) fn get(&self, program: &ShimProgram) -> io::Result<Arc<Nursery>> {
        if cfg!(not(target_os = "linux")) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut nursery = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*nursery {
            Some(nursery) => Ok(Arc::clone(nursery)),
            None => Ok(Arc::clone(
                nursery.insert(Arc::new(Nursery::start(program)?)),
            )),
        }
    }

    /// Somebody heard nothing from it: the next one who asks gets another.
    pub(super) fn give_up(&self, nursery: &Arc<Nursery>) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|it| Arc::ptr_eq(it, nursery));
    }
}

/// Is a nursery, whose copies do `work` with a link as their standard input.
pub(super) fn keep(control: &UnixStream, work: fn()) -> ExitCode {
    if control.set_read_timeout(None).is_err() {
        return ExitCode::FAILURE;
    }
    prepare_copies();
    loop {
        match next(control) {
            // Who asked sees by the link that nobody came of it, and has another way.
            Ok(Some(link)) => drop(start_copy(link, control.as_fd(), work)),
            Ok(None) => return ExitCode::SUCCESS,
            Err(_) => return ExitCode::FAILURE,
        }
    }
}

/// The link for another shim; `None` if nobody holds the nursery any more.
fn next(control: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0];
    let words = &mut [IoSliceMut::new(&mut word)];
    // What comes is closed in each copy, and no program is loaded here.
    let flags = RecvFlags::empty();
    let got = rustix::io::retry_on_intr(|| recvmsg(control, words, &mut ancillary, flags))?;
    if got.bytes == 0 {
        return Ok(None);
    }
    let links = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut links) => links.next(),
        _ => None,
    });
    links
        .map(Some)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The first word that a program hears over its standard input.
pub(super) fn first_word(link: &UnixStream) -> io::Result<u32> {
    link.set_read_timeout(Some(super::spawn::PATIENCE))?;
    let mut word = [0; 4];
    (&*link).read_exact(&mut word)?;
    Ok(u32::from_le_bytes(word))
}
