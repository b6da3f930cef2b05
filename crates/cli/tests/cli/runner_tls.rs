//! A runner that listens with TLS: certificates, fingerprints and their renewal.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::{CommandOutput, bowline, command};
use crate::test_runner::end_sessions;

/// A runner with TLS.
pub(crate) struct TlsRunner {
    runner: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) fingerprint: String,
    out: BufReader<ChildStdout>,
    folder: TempDir,
}

impl TlsRunner {
    pub(crate) fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = folder.path().join("s").display().to_string();
        let fixed = ["serve", "--state-dir", &state, "--tls-own"];
        let listen = ["--listen", "127.0.0.1:0"];
        let args = [&fixed[..], &listen, more].concat();
        let mut runner = command(&args).spawn().unwrap();
        let mut out = BufReader::new(runner.stdout.take().unwrap());
        Self {
            url: format!("https://{}", read(&mut out, "listening on https://")),
            token: read(&mut out, "token in "),
            fingerprint: read(&mut out, "certificate "),
            runner,
            out,
            folder,
        }
    }

    fn state(&self) -> String {
        self.folder.path().join("s").display().to_string()
    }

    /// Sends SIGHUP and returns the fingerprint that the runner prints.
    fn hang_up(&mut self) -> String {
        let pid = Pid::from_raw(self.runner.id().cast_signed()).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
        read(&mut self.out, "certificate ")
    }

    fn ps(&self, more: &[&str]) -> CommandOutput {
        let fixed = ["ps", "--runner", &self.url, "--token-file", &self.token];
        bowline(&[&fixed[..], more].concat())
    }
}

impl Drop for TlsRunner {
    fn drop(&mut self) {
        end_sessions(&self.state());
        self.runner.kill().unwrap();
        self.runner.wait().unwrap();
    }
}

#[test]
fn self_signed_certificate_needs_fingerprint() {
    let served = TlsRunner::start(&[]);
    let known = served.ps(&["--fingerprint", &served.fingerprint]);
    assert_eq!(known.ok(), "no sessions\n");
    served.ps(&["--fingerprint", &"0".repeat(64)]).failed(1);
    served.ps(&[]).failed(1);
}

/// A certificate authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(parameters, key),
            certificate,
        }
    }

    /// Issues a client certificate; returns the arguments that use it.
    fn issue(&self, folder: &Path, name: &str) -> [String; 4] {
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let path = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
        std::fs::write(path("crt"), certificate.pem()).unwrap();
        std::fs::write(path("key"), key.serialize_pem()).unwrap();
        let [flag, key_flag] = ["--client-cert", "--client-key"].map(str::to_owned);
        [flag, path("crt"), key_flag, path("key")]
    }
}

#[test]
fn client_ca_requires_client_certificate() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let (known, unknown) = (Authority::new(), Authority::new());
    let authorities = folder.path().join("authorities.pem");
    std::fs::write(&authorities, &known.certificate).unwrap();
    let served = TlsRunner::start(&["--client-ca", &authorities.display().to_string()]);
    let ps = |shown: &[String]| {
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        served.ps(&[&["--fingerprint", &served.fingerprint][..], &shown].concat())
    };
    let client = known.issue(folder.path(), "client");
    assert_eq!(ps(&client).ok(), "no sessions\n");
    for shown in [&[][..], &unknown.issue(folder.path(), "unknown")] {
        let line = ps(shown).failed(1);
        assert!(line.contains("requires a client certificate"), "{line}");
    }
    std::fs::remove_file(&client[3]).unwrap();
    let line = ps(&client).failed(1);
    assert!(line.contains("client.key"), "{line}");
    let line = ps(&client[..2]).failed(2);
    assert!(line.contains("--client-key"), "{line}");
}

#[test]
fn client_ca_without_certificate_is_refused() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let state = folder.path().join("s").display().to_string();
    let line = bowline(&[
        "serve",
        "--state-dir",
        &state,
        "--client-ca",
        "authorities.pem",
    ]);
    let line = line.failed(2);
    assert!(line.contains("--tls-own"), "{line}");
}

#[test]
fn hangup_reloads_token_and_certificate() {
    let mut served = TlsRunner::start(&[]);
    let ps = |served: &TlsRunner| served.ps(&["--fingerprint", &served.fingerprint]);
    assert_eq!(ps(&served).ok(), "no sessions\n");
    let old = std::fs::read_to_string(&served.token).unwrap();
    std::fs::remove_file(&served.token).unwrap();
    let state = served.state();
    std::fs::remove_file(format!("{state}/certificate.pem")).unwrap();
    let fingerprint = served.hang_up();
    assert_ne!(fingerprint, served.fingerprint);
    assert_ne!(std::fs::read_to_string(&served.token).unwrap(), old);
    ps(&served).failed(1);
    served.fingerprint = fingerprint;
    assert_eq!(ps(&served).ok(), "no sessions\n");
    std::fs::write(&served.token, &old).unwrap();
    let line = ps(&served).failed(1);
    assert!(line.contains("token"), "{line}");
}

/// Reads lines until one starts with `begin`; returns its rest.
fn read(out: &mut BufReader<ChildStdout>, begin: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(
            out.read_line(&mut line).unwrap() > 0,
            "the runner ended before {begin}"
        );
        if let Some(rest) = line.strip_prefix(begin) {
            break rest.trim().to_owned();
        }
    }
}
