//! `bowline kill`: ends a session of a runner.

use std::process::ExitCode;

use crate::args;
use crate::failure::Failure;
use crate::runner::{client, find, refused};
use crate::view::print;

/// Ends a session, and says what came of it.
pub(crate) async fn kill(options: args::Kill) -> Result<ExitCode, Failure> {
    let client = client(&options.at)?;
    let (id, _) = find(&client, &options.at, &options.id).await?;
    let ended = client.end(id, options.force, !options.remove).await;
    let ended = ended.map_err(|error| refused(&options.at, error))?;
    let survivors = ended["survivors"].as_array().map_or(0, Vec::len);
    if survivors > 0 {
        return Err(Failure::failed(format!(
            "{survivors} processes of {id} are still there, end them by hand: {}",
            ended["survivors"]
        )));
    }
    let exit = &ended["exit"];
    let how = match (exit["code"].as_i64(), exit["signal"].as_i64()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "its process was gone".to_owned(),
    };
    print(&format!("ended {id}: {how}\n"))?;
    Ok(ExitCode::SUCCESS)
}
