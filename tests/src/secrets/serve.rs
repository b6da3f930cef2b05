//! The runner, over TLS, for clients with a certificate and the token.

use std::io;
use std::process::ExitCode;

use bowline_runner::{
    Certificate, Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir, Tls,
};

use super::{RunnerOrder, Served, Words, read_json, write_json};

/// Serves until its input ends.
pub fn run() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime.and_then(|runtime| runtime.block_on(serve())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use io::Write as _;
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> io::Result<()> {
    let order: RunnerOrder = read_json()?;
    let state = StateDir::at(order.folder.join("s")).map_err(io::Error::other)?;
    let configuration = ServeConfiguration {
        shim: ShimProgram {
            path: std::env::current_exe()?,
            args: vec![Words::SHIM.into()],
        },
        socket: Some(order.folder.join("runner.sock")),
        listen: vec![([127, 0, 0, 1], 0).into()],
        token_file: order.folder.join("token"),
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: Some(Tls {
            certificate: Certificate::Own {
                folder: state.path().to_owned(),
                names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
            },
            client_authorities: Some(order.client_authorities),
        }),
        limits: ServeLimits::default(),
        state,
        policy: Default::default(),
    };
    let runner = Runner::start(configuration)
        .await
        .map_err(io::Error::other)?;
    let address = runner.addresses().first().copied();
    let fingerprint = runner.fingerprint();
    let (Some(address), Some(fingerprint)) = (address, fingerprint) else {
        return Err(io::Error::other("it does not listen"));
    };
    tracing::trace!("the runner logs at this level");
    write_json(&Served {
        url: format!("https://{address}"),
        fingerprint,
    })?;
    let stop = tokio::task::spawn_blocking(read_json::<()>);
    let _ = stop.await;
    runner.stop().await;
    Ok(())
}
