//! `bowline serve`: the session daemon.

use std::path::Path;
use std::process::ExitCode;

use bowline_runner::{
    Certificate, NotifyConfiguration, Runner, ServeConfiguration, ServeLimits, ShimProgram,
    StateDir, Tls,
};
use tokio::signal::unix::SignalKind;

use crate::args;
use crate::failure::Failure;
use crate::policy::policy;
use crate::runner::state_dir;
use crate::signals::listen;
use crate::stdio::print;

/// The hidden first argument that makes this binary the shim of one session.
pub(crate) const SHIM: &str = "shim";

/// Serves until SIGINT or SIGTERM. SIGHUP reads the token and the certificate again.
pub(crate) async fn serve(options: args::Serve) -> Result<ExitCode, Failure> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let notify = options.notify.clone().map(|url| {
        let mut notify = NotifyConfiguration::new(url);
        notify.secret_file.clone_from(&options.notify_secret_file);
        notify
    });
    #[cfg(feature = "fleet")]
    let fleet = crate::fleet::Joining::new(&options)?;
    let configuration = configuration(options)?;
    #[cfg(feature = "fleet")]
    let state = configuration.state.clone();
    let token_file = configuration.token_file.clone();
    let scheme = if configuration.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let runner = Runner::start(configuration).await;
    let runner = runner.map_err(|error| Failure::caused("cannot", &error))?;
    if let Some(notify) = notify {
        let notified = runner.notify(notify);
        notified.map_err(|error| Failure::caused("cannot", &error))?;
    }
    #[cfg(feature = "fleet")]
    let _member = match fleet {
        Some(fleet) => Some(fleet.join(&runner, &state).await?),
        None => None,
    };
    print(&started(&runner, scheme, &token_file))?;
    loop {
        tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            _ = hang_up.recv() => reload(&runner),
        }
    }
    let report = runner.stop().await;
    print(&stopped(report.running))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the token and the certificate again, and prints the certificate's fingerprint. The terminal
/// that would show it may be closed.
fn reload(runner: &Runner) {
    let text = match (runner.reload(), runner.fingerprint()) {
        (Err(error), _) => format!("cannot {error}; the previous one stays in use\n"),
        (Ok(()), Some(fingerprint)) => format!("reloaded\ncertificate {fingerprint}\n"),
        (Ok(()), None) => "reloaded\n".to_owned(),
    };
    let _ = print(&text);
}

/// Formats the addresses and the credentials of a runner.
fn started(runner: &Runner, scheme: &str, token_file: &Path) -> String {
    let mut lines = String::new();
    if let Some(socket) = runner.socket() {
        lines.push_str(&format!("listening on unix:{}\n", socket.display()));
    }
    for address in runner.addresses() {
        lines.push_str(&format!("listening on {scheme}://{address}\n"));
    }
    lines.push_str(&format!("token in {}\n", token_file.display()));
    if let Some(fingerprint) = runner.fingerprint() {
        lines.push_str(&format!("certificate {fingerprint}\n"));
    }
    lines
}

fn stopped(running: usize) -> String {
    match running {
        0 => "stopped; no session is running\n".to_owned(),
        1 => "stopped; 1 session keeps running, the next `bowline serve` finds it\n".to_owned(),
        n => format!("stopped; {n} sessions keep running, the next `bowline serve` finds them\n"),
    }
}

fn configuration(options: args::Serve) -> Result<ServeConfiguration, Failure> {
    let state = match &options.state_dir {
        Some(path) => StateDir::at(path).map_err(Failure::failed)?,
        None => state_dir()?,
    };
    let program = std::env::current_exe();
    let program = program
        .map_err(|error| Failure::failed(format!("cannot find the path of bowline: {error}")))?;
    let tls = tls(&options, &state)?;
    let in_state = |name: &str| state.path().join(name);
    Ok(ServeConfiguration {
        shim: ShimProgram {
            path: program,
            args: vec![SHIM.into()],
        },
        socket: Some(options.socket.unwrap_or_else(|| in_state("runner.sock"))),
        listen: options.listen,
        token_file: options.token_file.unwrap_or_else(|| in_state("token")),
        hosts: options.host,
        origins: options.origin,
        tls,
        limits: ServeLimits::default(),
        state,
        policy: policy(options.policy.as_deref())?,
    })
}

fn tls(options: &args::Serve, state: &StateDir) -> Result<Option<Tls>, Failure> {
    let certificate = match (&options.tls_cert, &options.tls_key) {
        (Some(certificate), Some(key)) => Certificate::Files {
            certificate: certificate.clone(),
            key: key.clone(),
        },
        _ if options.tls_own => Certificate::Own {
            folder: state.path().to_owned(),
            names: certificate_names(options),
        },
        _ if options.client_ca.is_some() => {
            return Err(Failure::usage(
                "--client-ca has no effect without TLS; add --tls-cert and --tls-key, or --tls-own",
            ));
        }
        _ => return Ok(None),
    };
    Ok(Some(Tls {
        certificate,
        client_authorities: options.client_ca.clone(),
    }))
}

/// Returns the names and addresses that a self-signed certificate is valid for.
fn certificate_names(options: &args::Serve) -> Vec<String> {
    let name_of = |host: &String| match host.rsplit_once(':') {
        Some((name, _port)) => name.to_owned(),
        None => host.clone(),
    };
    let addresses = options.listen.iter();
    let addresses = addresses.map(|address| address.ip().to_string());
    ["localhost".to_owned()]
        .into_iter()
        .chain(options.host.iter().map(name_of))
        .chain(addresses)
        .collect()
}
