//! A child of this process, as a [`Terminal`].

use std::sync::Arc;

use bowline_process::log::SharedLog;
use bowline_process::{
    Containment, Exit, LocalProcess, ResizeError, ResourceUsage, SessionId, Signal, SignalError,
    Stream, TerminalState, TerminationPolicy, TerminationReport, WindowSize, WriteError,
    WriteReceipt,
};
use bytes::Bytes;
use tokio::sync::watch;

use crate::connection::ConnectionState;
use crate::session::{Kind, Terminal};

impl Terminal for LocalProcess {
    fn pid(&self) -> Option<u32> {
        Some(self.pid())
    }

    fn kind(&self) -> Kind {
        if self.has_terminal() {
            Kind::LocalPty
        } else {
            Kind::LocalPipes
        }
    }

    fn containment(&self) -> Containment {
        self.containment()
    }

    fn log(&self, stream: Stream) -> &Arc<SharedLog> {
        self.log(stream)
    }

    fn write(&self, bytes: Bytes) -> Result<WriteReceipt, WriteError> {
        self.write(bytes)
    }

    fn close_input(&self) -> Result<WriteReceipt, WriteError> {
        self.close_input()
    }

    fn resize(&self, size: WindowSize) -> Result<(), ResizeError> {
        self.resize(size)
    }

    fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.signal(signal)
    }

    fn terminal_state(&self) -> Option<TerminalState> {
        self.terminal_state()
    }

    fn queued_input(&self) -> usize {
        self.queued_input()
    }

    fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.exit()
    }

    fn terminate(&self, policy: TerminationPolicy) -> watch::Receiver<Option<TerminationReport>> {
        self.terminate(policy)
    }

    fn connection(&self) -> watch::Receiver<ConnectionState> {
        watch::Sender::new(ConnectionState::Connected).subscribe()
    }

    fn resource_usage(&self, id: SessionId) -> Option<ResourceUsage> {
        self.resource_usage(id)
    }
}
