//! The options of the commands that serve or use a runner.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use bowline_lifecycle::Shell;
use bowline_runner::TokenScope;
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

use crate::session_ids::session_ids;
use crate::template::Template;

/// Selects a runner.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunnerArgs {
    /// The runner: unix:/path, or http, https, grpc or grpcs://host:port; by default this user's
    /// own socket.
    #[arg(long, value_name = "URL", group = "place")]
    pub(crate) runner: Option<String>,
    #[command(flatten)]
    pub(crate) credentials: Credentials,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    pub(crate) fleet: super::fleet::FleetArgs,
}

impl RunnerArgs {
    /// Whether this user's own runner is selected, since no option selects another one.
    pub(crate) const fn is_own(&self) -> bool {
        #[cfg(feature = "fleet")]
        if self.fleet.fleet.is_some() {
            return false;
        }
        self.runner.is_none()
    }

    /// Whether the runner is on this machine: this user's own, or one that listens on a socket.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        let listens_on_socket = |url: &str| url.starts_with("unix:");
        self.is_own() || self.runner.as_deref().is_some_and(listens_on_socket)
    }

    /// Formats the options for another command at the same runner, each after a space.
    pub(crate) fn options(&self) -> String {
        #[cfg(feature = "fleet")]
        if let Some(options) = self.fleet.options() {
            return options;
        }
        self.credentials.options(self.runner.as_deref())
    }
}

impl Credentials {
    /// Formats the options that select a runner with these credentials, each after a space.
    pub(crate) fn options(&self, runner: Option<&str>) -> String {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|it| it.display().to_string());
        let options = [
            ("--runner", runner.map(str::to_owned)),
            ("--token-file", path(&self.token_file)),
            ("--fingerprint", self.fingerprint.clone()),
            ("--client-cert", path(&self.client_cert)),
            ("--client-key", path(&self.client_key)),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        given
            .map(|(name, value)| format!(" {name} {}", Shell::Sh.quote(&value)))
            .collect()
    }
}

/// How a runner and its client authenticate each other.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Credentials {
    /// The file with the runner's token; not needed over the socket.
    #[arg(long, value_name = "PATH", requires = "runner")]
    pub(crate) token_file: Option<PathBuf>,
    /// The SHA-256 fingerprint of the runner's self-signed certificate, which the runner prints
    /// when it starts.
    #[arg(long, value_name = "SHA256", requires = "runner")]
    pub(crate) fingerprint: Option<String>,
    /// The client's certificate in PEM, for a runner that was started with --client-ca.
    #[arg(
        long,
        value_name = "FILE",
        requires = "runner",
        requires = "client_key"
    )]
    pub(crate) client_cert: Option<PathBuf>,
    /// The private key of the client's certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct Serve {
    /// Also listen on this address; may be repeated. Addresses other than loopback need TLS.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// The Unix socket; by default runner.sock in the state folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The file with the token that clients send over the network; created with a new token if it
    /// does not exist. By default the file `token` in the state folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// The folder with the sessions; by default BOWLINE_STATE_DIR, else a folder of this user.
    #[arg(long, value_name = "PATH")]
    pub(crate) state_dir: Option<PathBuf>,
    /// An origin whose pages may send requests; may be repeated. By default none.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Vec<String>,
    /// A name and port of this machine that clients may send in the Host header; may be repeated.
    #[arg(long, value_name = "NAME:PORT")]
    pub(crate) host: Vec<String>,
    /// Use TLS with this certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Use TLS with a self-signed certificate; its fingerprint is printed at the start.
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) tls_own: bool,
    /// Accept only clients with a certificate of an authority in this file, in PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Post what needs attention to this URL (https, or http on loopback): a request that waits, the end of a turn, a
    /// failure, a usage limit.
    #[arg(long, value_name = "URL")]
    pub(crate) notify: Option<String>,
    /// Sign what is posted with the secret in this file, which is created if it does not exist.
    #[arg(long, value_name = "FILE", requires = "notify")]
    pub(crate) notify_secret_file: Option<PathBuf>,
    /// Rules that answer permission requests of the agents that the daemon drives; by default
    /// ~/.config/bowline/policy.toml, if there is one.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Join the fleet of these NATS servers: nats, tls, ws or wss://host:port, several with commas between.
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,
    /// The file with the runner's credentials for the fleet; by default that of BOWLINE_FLEET_CREDS.
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "FILE")]
    pub(crate) creds: Option<PathBuf>,
    /// In a fleet: answer the discovery of NATS micro-services ($SRV.PING, INFO and STATS) as `bowline`, and list the
    /// sessions on bl.sessions.RUNNER, for programs that do not know Bowline.
    #[cfg(feature = "fleet")]
    #[arg(long)]
    pub(crate) advertise: bool,
    /// Install the daemon, with these options, as a service of this user that starts at login (a unit
    /// of systemd, or a launch agent on macOS), and start it.
    #[arg(long, conflicts_with = "uninstall")]
    pub(crate) install: bool,
    /// Stop the service and remove it. Its sessions keep running.
    #[arg(long, exclusive = true)]
    pub(crate) uninstall: bool,
}

const SERVE_HELP: &str = "\
Each session is a process of its own: it keeps running when the daemon ends, and the next daemon \
finds it. Use `bowline ps`, `bowline attach ID` and `bowline kill ID`; the REST API is described at \
/openapi.json.

SIGHUP makes the daemon read the token file, the certificate and its key again; attached clients stay \
attached.

The daemon logs to standard error: warnings and errors, or what RUST_LOG selects.";

/// The named tokens of this machine's runner.
#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
    /// The runner's token file, beside which the named ones are; by default `token` in the state folder.
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it; it is not kept, and cannot be printed again.
    Add {
        /// Its name.
        name: String,
        /// What it permits: look (read), answer (also permission requests), write (also prompts and keys), own (all).
        #[arg(long, default_value = "look")]
        scope: TokenScope,
    },
    /// List the tokens.
    Ls {
        #[command(flatten)]
        list: ListArgs,
    },
    /// Remove a token. A running daemon refuses it from then on.
    Rm {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ps {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Print the list again whenever it changes, until ^C.
    #[arg(short, long)]
    pub(crate) watch: bool,
}

/// The form of a list.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a line for each item, from a template with the fields of --json: '{id} {phase}'.
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "json", value_parser = Template::parse)]
    pub(crate) format: Option<Template>,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    /// The session's id as `bowline ps` lists it, or the start of it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(session_ids))]
    pub(crate) id: String,
    /// The prompt; `-` reads it from standard input.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    /// The reason of a denial, which the agent receives.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// The session's id as `bowline ps` lists it, or the start of it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(session_ids))]
    pub(crate) id: String,
    /// The id of the request, unless only one is open; then allow, deny, or the id of one of its options.
    #[arg(value_name = "[REQUEST] ANSWER", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exits with 1 if the time is over, or the session ends in another state.")]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    /// What to wait for: idle (no turn runs), ended, or permission (a request is open).
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "STATE",
        hide_possible_values = true
    )]
    pub(crate) until: WaitFor,
    /// Wait at most this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// The session's id as `bowline ps` lists it, or the start of it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(session_ids))]
    pub(crate) id: String,
}

/// Parses a number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|it| (0.0..=1e9).contains(it));
    seconds.ok_or_else(|| "give a number of seconds, such as 30".to_owned())
}

/// A state of a session to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitFor {
    /// No turn runs.
    #[default]
    Idle,
    /// The session has ended.
    Ended,
    /// A permission request is open.
    Permission,
}

impl fmt::Display for WaitFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::Ended => "ended",
            Self::Permission => "waiting for a permission",
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    /// Go on until the session ends.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print the bytes of the output as they are.
    #[arg(long, conflicts_with = "events")]
    pub(crate) raw: bool,
    /// With --raw: begin at this offset of the output, in bytes.
    #[arg(long, value_name = "OFFSET", default_value_t = 0, requires = "raw")]
    pub(crate) from: u64,
    /// Print one JSON object a line for each change of the transcript.
    #[arg(long)]
    pub(crate) events: bool,
    /// The session's id as `bowline ps` lists it, or the start of it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(session_ids))]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Attach to the session's terminal; press ^] to detach. A dialogue continues as in `bowline chat`: prompts, answers \
and interrupts are sent, and ^D or /detach detaches. The session keeps running. Without a terminal, and with \
--read-only, a dialogue is shown as it grows; ^C detaches.

Exits with 1 and a message on standard error if output of a dialogue is missing: a gap, damage of its log, \
or a session whose process was killed.")]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    /// Show the session without sending anything to it.
    #[arg(short, long)]
    pub(crate) read_only: bool,
    /// The session's id as `bowline ps` lists it, or the start of it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(session_ids))]
    pub(crate) id: String,
}

/// What is removed from a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Redact {
    /// Tokens, keys, passwords and credentials.
    #[default]
    Secrets,
    /// Also prompts, answers, and the content of tools and files.
    Content,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The bundle is a tar archive, compressed with gzip: the streams of the session, its transcript, and what is known of it. \
`bowline replay` and `bowline inspect` read it.

Secrets are found by their form (tokens, private keys, URLs with credentials), by the name before them (Authorization, \
*_TOKEN, password), and by the values of this shell's variables with such names. Look at the file before you share it. \
With --redact content only types, ids, names of tools and models, numbers and times remain of a dialogue.")]
pub(crate) struct Bundle {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    /// The file to write, which must not exist; by default bowline-bundle-NAME.tar.gz.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What is removed: secrets, or content as well.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub(crate) redact: Redact,
    /// A session of the runner (its id, or the start of it), or a recording.
    #[arg(value_name = "ID|FILE")]
    pub(crate) source: String,
}

#[derive(Debug, Args)]
pub(crate) struct Kill {
    #[command(flatten)]
    pub(crate) runner: RunnerArgs,
    /// Kill the processes at once, instead of asking the session to end first.
    #[arg(long)]
    pub(crate) force: bool,
    /// Also move the session's log and all its other files to the runner's trash, which is kept for an hour.
    #[arg(long)]
    pub(crate) remove: bool,
    /// The session's id as `bowline ps` lists it, or the start of it.
    #[arg(value_name = "ID", add = ArgValueCompleter::new(session_ids))]
    pub(crate) id: String,
}
