//! `bowline serve`: the runner.

use std::process::ExitCode;

use bowline_runner::{
    Certificate, Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir, Tls,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::SHIM;
use crate::args;
use crate::failure::Failure;
use crate::runner::state;
use crate::view::print;

/// Serves until a signal comes.
pub(crate) async fn serve(options: args::Serve) -> Result<ExitCode, Failure> {
    let listen = |kind| {
        let listener = signal(kind);
        listener.map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))
    };
    let (mut interrupt, mut terminate) = (
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
    );
    let configuration = configuration(options)?;
    let token_file = configuration.token_file.clone();
    let has_tls = configuration.tls.is_some();
    let runner = Runner::start(configuration).await;
    let runner = runner.map_err(|error| Failure::failed(format!("cannot {error}")))?;
    let mut lines = String::new();
    if let Some(socket) = runner.socket() {
        lines.push_str(&format!("listening on unix:{}\n", socket.display()));
    }
    let scheme = if has_tls { "https" } else { "http" };
    for address in runner.addresses() {
        lines.push_str(&format!("listening on {scheme}://{address}\n"));
    }
    lines.push_str(&format!("token in {}\n", token_file.display()));
    if let Some(fingerprint) = runner.fingerprint() {
        lines.push_str(&format!("certificate {fingerprint}\n"));
    }
    print(&lines)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let report = runner.stop().await;
    print(&farewell(report.running))?;
    Ok(ExitCode::SUCCESS)
}

fn farewell(running: usize) -> String {
    match running {
        0 => "stopped; no session runs\n".to_owned(),
        1 => "stopped; 1 session goes on, `bowline serve` finds it again\n".to_owned(),
        n => format!("stopped; {n} sessions go on, `bowline serve` finds them again\n"),
    }
}

fn configuration(options: args::Serve) -> Result<ServeConfiguration, Failure> {
    let state = match &options.state_dir {
        Some(path) => {
            StateDir::at(path).map_err(|error| Failure::failed(format!("cannot {error}")))?
        }
        None => state()?,
    };
    let program = std::env::current_exe();
    let program =
        program.map_err(|error| Failure::failed(format!("cannot find this program: {error}")))?;
    let tls = tls(&options, &state);
    Ok(ServeConfiguration {
        shim: ShimProgram {
            path: program,
            args: vec![SHIM.into()],
        },
        socket: Some(
            options
                .socket
                .unwrap_or_else(|| state.path().join("runner.sock")),
        ),
        listen: options.listen,
        token_file: options
            .token_file
            .unwrap_or_else(|| state.path().join("token")),
        hosts: options.host,
        origins: options.origin,
        tls,
        limits: ServeLimits::default(),
        state,
    })
}

fn tls(options: &args::Serve, state: &StateDir) -> Option<Tls> {
    let certificate = match (&options.tls_cert, &options.tls_key) {
        (Some(certificate), Some(key)) => Certificate::Files {
            certificate: certificate.clone(),
            key: key.clone(),
        },
        _ if options.tls_own => Certificate::Own {
            folder: state.path().to_owned(),
            names: names(options),
        },
        _ => return None,
    };
    Some(Tls {
        certificate,
        client_authorities: options.client_ca.clone(),
    })
}

/// What a certificate of our own is for: the names and addresses that clients use.
fn names(options: &args::Serve) -> Vec<String> {
    let hosts = options.host.iter();
    let hosts = hosts.map(|host| {
        host.rsplit_once(':')
            .map_or(host.as_str(), |(name, _)| name)
    });
    let addresses = options
        .listen
        .iter()
        .map(|address| address.ip().to_string());
    let named = ["localhost".to_owned()].into_iter();
    named
        .chain(hosts.map(str::to_owned))
        .chain(addresses)
        .collect()
}
