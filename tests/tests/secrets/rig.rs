//! The processes under test, and their secrets.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bowline_tests::secrets::{Canaries, HostOrder, LOGS, RunnerOrder, Served, Words};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::places::Place;

pub(crate) struct Rig {
    pub(crate) folder: TempDir,
    pub(crate) canaries: Canaries,
    pub(crate) host: Process,
    runner: Process,
}

impl Rig {
    pub(crate) fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("bw")
            .tempdir_in("/tmp")
            .expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["logs", "tmp"] {
            fs::create_dir(at(name)).expect("a folder");
        }
        let canaries = Canaries {
            token: canary("tokentokentokentokentoken"),
            guess: canary("guessguessguessguessguess"),
            variable: canary("variable"),
            prompt: canary("prompt"),
            payload: canary("payload"),
            backend: canary("backend"),
            junk: canary("junk"),
        };
        private(&at("token"), &canaries.token);
        vouch(folder.path());
        let mut runner = Process::start(Words::RUNNER, folder.path());
        runner.write_json(&RunnerOrder {
            folder: folder.path().to_owned(),
            client_authorities: at("authorities.pem"),
        });
        let served: Served = runner.read_json();
        let mut host = Process::start(Words::HOST, folder.path());
        host.write_json(&HostOrder {
            served,
            identity: (at("client.crt"), at("client.key")),
            canaries: canaries.clone(),
        });
        Self {
            folder,
            canaries,
            host,
            runner,
        }
    }

    /// A line of the client's key.
    pub(crate) fn key(&self) -> String {
        let key = fs::read_to_string(self.folder.path().join("client.key")).expect("a key");
        key.lines().nth(1).expect("a line").to_owned()
    }

    /// Ends all processes and returns their output.
    pub(crate) fn finish(self) -> (TempDir, Vec<Place>) {
        let mut printed = self.host.finish("the output of the host");
        printed.extend(self.runner.finish("the output of the runner"));
        (self.folder, printed)
    }
}

fn canary(word: &str) -> String {
    format!("canary{:016x}{word}", rand_seed())
}

/// A random number that cannot appear by chance.
fn rand_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0)
}

/// A certificate authority, and a client's certificate and key.
fn vouch(folder: &Path) {
    let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = parameters.self_signed(&key).expect("a certificate").pem();
    fs::write(folder.join("authorities.pem"), authority).expect("written");
    let issuer = Issuer::new(parameters, key);
    let mut parameters = CertificateParams::new(vec!["host".to_owned()]).expect("a name");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().expect("a key");
    let certificate = parameters.signed_by(&key, &issuer).expect("a certificate");
    fs::write(folder.join("client.crt"), certificate.pem()).expect("written");
    private(&folder.join("client.key"), &key.serialize_pem());
}

fn private(path: &Path, text: &str) {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("written");
}

/// A process that is controlled by lines of JSON.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    printed: String,
}

impl Process {
    fn start(word: &str, folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_traced"));
        command.arg(word).env(LOGS, folder.join("logs"));
        command
            .env("TMPDIR", folder.join("tmp"))
            .env("RUST_BACKTRACE", "full");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be run");
        let input = child.stdin.take().expect("an input");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        Self {
            child,
            input,
            output,
            printed: String::new(),
        }
    }

    pub(crate) fn write_json(&mut self, what: &impl Serialize) {
        let line = serde_json::to_string(what).expect("JSON");
        writeln!(self.input, "{line}").expect("it listens");
    }

    pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(&mut self) -> T {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("text");
        serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut why = String::new();
            let _ = self.child.kill();
            let stderr = self.child.stderr.as_mut().expect("an error output");
            stderr.read_to_string(&mut why).expect("text");
            panic!("{error}: {line} {why}")
        })
    }

    /// Closes its input and waits for its exit. Returns its output except the requested data.
    fn finish(mut self, name: &str) -> Vec<Place> {
        drop(self.input);
        self.output.read_to_string(&mut self.printed).expect("text");
        let left = self.child.wait_with_output().expect("it ends");
        assert!(left.status.success(), "{name}: {left:?}");
        let errors = String::from_utf8_lossy(&left.stderr).into_owned();
        vec![Place::new(name, self.printed), Place::new(name, errors)]
    }
}
