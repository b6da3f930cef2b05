//! A model of a host, a session and an unreliable network between them, in one thread.

use std::collections::VecDeque;

use bowline_wire::Attach;

use super::*;

/// The session.
pub(super) struct Owner {
    pub(super) output: Vec<u8>,
    /// Offset of the oldest byte that is kept.
    pub(super) start: u64,
    pub(super) typed: Vec<u8>,
    /// Number of input bytes that the kernel has accepted.
    pub(super) taken: u64,
    pub(super) generation: u64,
    exit: bool,
    /// Whether the exit was acknowledged.
    pub(super) is_over: bool,
}

/// The session's end of a connection.
struct Client {
    connection: Connection,
    cursor: u64,
    credit: u64,
    exit_is_sent: bool,
    is_attached: bool,
}

pub(super) struct Model {
    pub(super) host: Machine,
    pub(super) owner: Owner,
    now: Duration,
    /// The host's current connection.
    wanted: Option<Connection>,
    client: Option<Client>,
    to_owner: VecDeque<Frame>,
    to_host: VecDeque<(Connection, Frame)>,
    /// Frames of old connections, which may arrive late.
    stale: Vec<(Connection, Frame)>,
    pub(super) received: Vec<u8>,
    /// End of the received output, including gaps.
    pub(super) at: u64,
    pub(super) lost: u64,
    pub(super) written: Vec<(Ticket, Result<(), WriteFailure>)>,
    pub(super) exits: usize,
    pub(super) states: Vec<ConnectionState>,
    /// Free space in the host's log, in bytes.
    room: u64,
    is_over: bool,
}

impl Model {
    pub(super) fn new(seed: u64) -> Self {
        let mut joining = joining();
        joining.cursors = [(OUT, Some(0))].into();
        // Links are given up in tests of their own.
        joining.connect_timeout = Duration::MAX;
        joining.reconnect_timeout = Duration::MAX;
        let mut model = Self {
            room: joining.window,
            host: Machine::new(joining, seed),
            owner: Owner {
                output: Vec::new(),
                start: 0,
                typed: Vec::new(),
                taken: 0,
                generation: 0,
                exit: false,
                is_over: false,
            },
            now: Duration::ZERO,
            wanted: None,
            client: None,
            to_owner: VecDeque::new(),
            to_host: VecDeque::new(),
            stale: Vec::new(),
            received: Vec::new(),
            at: 0,
            lost: 0,
            written: Vec::new(),
            exits: 0,
            states: Vec::new(),
            is_over: false,
        };
        model.give(Input::Start);
        model
    }

    pub(super) fn give(&mut self, input: Input) {
        self.host.handle(input, self.now);
        while let Some(output) = self.host.poll_output() {
            self.act(output);
        }
        if !self.is_over {
            self.host.handle(Input::Room(OUT, self.room), self.now);
            while let Some(output) = self.host.poll_output() {
                self.act(output);
            }
        }
    }

    fn act(&mut self, output: Output) {
        assert!(!self.is_over, "no output follows the end: {output:?}");
        match output {
            Output::Connect { connection, .. } => {
                self.hang_up();
                self.wanted = Some(connection);
            }
            Output::Disconnect => self.hang_up(),
            Output::Send(frame) => {
                // Bytes that are sent into a connection that is gone go nowhere.
                if self.client.is_some() {
                    self.to_owner.push_back(frame);
                }
            }
            Output::Deliver {
                stream: OUT, bytes, ..
            } => {
                let from = self.at as usize;
                assert_eq!(self.owner.output[from..from + bytes.len()], bytes[..]);
                assert!(
                    bytes.len() as u64 <= self.room,
                    "more than there is place for"
                );
                self.at += bytes.len() as u64;
                self.room -= bytes.len() as u64;
                self.received.extend(&bytes);
            }
            Output::Gap { from, to, .. } => {
                assert_eq!(from, self.at);
                assert!(to <= self.owner.start, "what the owner has is not lost");
                self.lost += to - from;
                self.at = to;
            }
            Output::Written(ticket, outcome) => self.written.push((ticket, outcome)),
            Output::State(state) => self.states.push(state),
            Output::Exited(notice) => {
                assert!(notice.is_some() && self.owner.exit);
                assert_eq!(self.at, self.owner.output.len() as u64);
                self.exits += 1;
            }
            Output::Over => self.is_over = true,
            Output::Begin(_, offset) => assert_eq!(offset, self.at),
            Output::Attached(_) | Output::End(_) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Drops the connection on both sides, with all frames in flight.
    fn hang_up(&mut self) {
        self.client = None;
        self.wanted = None;
        self.stale.extend(self.to_host.drain(..));
        self.to_owner.clear();
    }

    /// Opens the requested connection.
    pub(super) fn open(&mut self) {
        if let Some(connection) = self.wanted.filter(|_| self.client.is_none()) {
            self.client = Some(Client {
                connection,
                cursor: 0,
                credit: 0,
                exit_is_sent: false,
                is_attached: false,
            });
            self.give(Input::Opened(connection));
        }
    }

    /// Cuts the connection and notifies the host.
    pub(super) fn cut(&mut self) {
        if let Some(connection) = self.wanted {
            self.hang_up();
            self.give(Input::Broken(connection, LinkError::lost("cut")));
        }
    }

    /// Drops all frames from now on, without notice.
    pub(super) fn swallow(&mut self) {
        if let Some(connection) = self.wanted {
            self.hang_up();
            self.wanted = Some(connection);
            self.client = Some(Client {
                connection: 0,
                cursor: 0,
                credit: 0,
                exit_is_sent: true,
                is_attached: false,
            });
        }
    }

    pub(super) fn stale_frame(&mut self, which: usize) {
        if !self.stale.is_empty() {
            let (connection, frame) = self.stale[which % self.stale.len()].clone();
            self.give(Input::Frame(connection, frame));
        }
    }

    pub(super) fn pass(&mut self) {
        if let Some(due) = self.host.poll_timeout() {
            self.now = self.now.max(due);
            self.give(Input::Timeout);
        }
    }

    pub(super) fn sleep(&mut self) {
        self.now += Duration::from_secs(100);
        self.give(Input::Timeout);
    }

    /// Empties the host's log.
    pub(super) fn consume(&mut self) {
        self.room = 1000;
        if !self.is_over {
            self.give(Input::Room(OUT, 1000));
        }
    }

    /// Delivers a frame of the host.
    pub(super) fn reach_owner(&mut self) {
        let Some(frame) = self.to_owner.pop_front() else {
            return;
        };
        let Some(client) = self.client.as_mut().filter(|it| it.connection != 0) else {
            return;
        };
        match frame.message {
            Message::Hello(_) | Message::Pong { .. } => {}
            Message::Attach(attach) => self.attach(attach),
            Message::Ping { nonce } => self.say(Message::Pong { nonce }),
            Message::Credit { n, .. } => client.credit += n,
            Message::Ack { offset, .. } => {
                assert!(offset <= client.cursor, "{offset} was not sent");
            }
            Message::Input { offset, bytes } => {
                if frame.generation == self.owner.generation {
                    self.input(offset, &bytes);
                }
            }
            Message::ExitAck => self.owner.is_over = true,
            Message::Detach => self.client = None,
            other => panic!("{other:?}"),
        }
    }

    fn attach(&mut self, attach: Attach) {
        if attach.resume_generation != Some(self.owner.generation) {
            self.owner.generation += 1;
        }
        let client = self.client.as_mut().expect("a client attaches");
        client.cursor = attach.cursors[&OUT];
        client.credit = attach.credit;
        client.is_attached = true;
        let next = self.owner.typed.len() as u64;
        let Message::Attached(mut attached) = attached(self.owner.generation, next, 0) else {
            unreachable!()
        };
        let extent = Extent {
            start: self.owner.start,
            end: self.owner.output.len() as u64,
            ..Extent::default()
        };
        attached.streams = [(OUT, extent)].into();
        self.say(Message::Attached(attached));
        self.ack();
    }

    fn input(&mut self, offset: u64, bytes: &[u8]) {
        let next = self.owner.typed.len() as u64;
        assert!(offset <= next, "a hole in the input");
        let known = (next - offset) as usize;
        if known < bytes.len() {
            self.owner.typed.extend(&bytes[known..]);
        }
    }

    /// Accepts some of the input in the kernel.
    pub(super) fn take(&mut self, bytes: u64) {
        self.owner.taken = (self.owner.taken + bytes).min(self.owner.typed.len() as u64);
        self.ack();
    }

    fn ack(&mut self) {
        let offset = self.owner.taken;
        let ended = false;
        self.say(Message::InputAck { offset, ended });
    }

    fn say(&mut self, message: Message) {
        if let Some(client) = self.client.as_ref().filter(|it| it.is_attached) {
            let frame = Frame::new(self.owner.generation, message);
            self.to_host.push_back((client.connection, frame));
        }
    }

    /// Sends output of the session, some of it repeatedly.
    pub(super) fn send(&mut self, bytes: u64, again: u64) {
        let Some(client) = self.client.as_mut().filter(|it| it.is_attached) else {
            return;
        };
        if client.cursor < self.owner.start {
            let gap = Message::Gap {
                stream: OUT,
                from: client.cursor,
                to: self.owner.start,
                reason: GapReason::Overflow,
            };
            client.cursor = self.owner.start;
            return self.say(gap);
        }
        let end = self.owner.output.len() as u64;
        let from = client.cursor.saturating_sub(again).max(self.owner.start);
        let to = end.min(client.cursor + bytes).min(from + client.credit);
        if to > client.cursor {
            client.credit -= to - from;
            client.cursor = to;
            let bytes = Bytes::copy_from_slice(&self.owner.output[from as usize..to as usize]);
            self.say(Message::Data {
                stream: OUT,
                offset: from,
                bytes,
                replay: false,
            });
        } else if self.owner.exit && client.cursor == end && !client.exit_is_sent {
            client.exit_is_sent = true;
            self.say(Message::Exit(ExitNotice {
                status: ExitStatus::Code(0),
                oom: false,
                drained: Drained::Clean,
                ends: [(OUT, end)].into(),
            }));
        }
    }

    /// Delivers a frame of the session.
    pub(super) fn reach_host(&mut self) {
        if let Some((connection, frame)) = self.to_host.pop_front() {
            self.give(Input::Frame(connection, frame));
        }
    }

    pub(super) fn write_output(&mut self, bytes: usize) {
        if !self.owner.exit {
            let next = self.owner.output.len();
            let bytes = (next..next + bytes).map(|at| (at * 31 % 251) as u8);
            self.owner.output.extend(bytes);
        }
    }

    pub(super) fn trim(&mut self, bytes: u64) {
        self.owner.start = (self.owner.start + bytes).min(self.owner.output.len() as u64);
    }

    pub(super) fn exit(&mut self) {
        self.owner.exit = true;
    }

    /// Lets another host take the lease, write, and detach.
    pub(super) fn steal(&mut self) {
        self.owner.generation += 1;
        self.owner.typed.extend(b"<stolen>");
        let generation = self.owner.generation;
        self.say(Message::Fenced { generation });
        if let Some(client) = &mut self.client {
            client.is_attached = false;
        }
    }

    /// Makes the network reliable and runs until nothing is pending.
    pub(super) fn settle(&mut self, retry: bool) {
        for _ in 0..2000 {
            if retry && matches!(self.states.last(), Some(ConnectionState::Failed(_))) {
                self.give(Input::Retry);
            }
            self.consume();
            self.open();
            while !self.to_owner.is_empty() {
                self.reach_owner();
            }
            for _ in 0..20 {
                self.send(200, 3);
            }
            self.take(u64::MAX / 2);
            while !self.to_host.is_empty() {
                self.reach_host();
            }
            let is_done = self.at == self.owner.output.len() as u64
                && self.owner.taken == self.owner.typed.len() as u64
                && (self.exits > 0 || !self.owner.exit)
                && self.states.last().is_none_or(ConnectionState::is_up)
                && self.client.as_ref().is_some_and(|it| it.is_attached)
                && self.to_owner.is_empty();
            if is_done {
                return;
            }
            if self.client.as_ref().is_none_or(|it| !it.is_attached) {
                self.pass();
            }
        }
        panic!("it never settles: {:?}", self.host);
    }

    pub(super) fn detach(&mut self) {
        self.give(Input::Detach);
        for _ in 0..100 {
            self.open();
            while !self.to_owner.is_empty() {
                self.reach_owner();
            }
            while !self.to_host.is_empty() {
                self.reach_host();
            }
            if self.is_over {
                return;
            }
            self.pass();
        }
        panic!("it never ends: {:?}", self.host);
    }
}
