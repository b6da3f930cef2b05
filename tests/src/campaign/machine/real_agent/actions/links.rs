//! A link that is cut five times per second.

use std::sync::Arc;
use std::time::Duration;

use bowline_transport::SystemNetwork;

use super::{scenario, send, settled, shims};
use crate::campaign::Random;
use crate::campaign::machine::program::socket;
use crate::campaign::machine::real_agent::judge::{Completeness, whole};
use crate::campaign::machine::real_agent::stage::{Theatre, end};
use crate::campaign::machine::station::Station;
use crate::chaos::{Address, ChaosProxy, Faults, Impatient};

const EVERY: Duration = Duration::from_millis(200);

pub(super) async fn cut(
    theatre: &Theatre,
    random: &mut Random,
    is_on_terminal: bool,
) -> Result<Completeness, String> {
    let scenario = scenario(random);
    let calm = theatre.calm(scenario, is_on_terminal).await?;
    let mut stage = theatre.stage(scenario, is_on_terminal)?;
    let station = Station::new().await?;
    let proxy = ChaosProxy::start(
        Address::Unix(socket(station.folder())),
        random.draw(),
        Faults::default(),
    );
    let proxy = proxy.await.map_err(|error| error.to_string())?;
    // Only the explicit cuts disturb this link.
    proxy.be_kind();
    stage.order.runner = Some(format!("http://{}", proxy.address()));
    let mut configuration = stage.order.configuration()?;
    let mut remote = stage.order.remote()?.ok_or("no runner")?;
    remote.network = Arc::new(Impatient::new(Arc::new(SystemNetwork)));
    let token = bowline_transport::TokenFile(station.folder().join("token"));
    configuration.location =
        bowline_lifecycle::AgentLocation::Runner(remote.with_credentials(token));
    let started = bowline_lifecycle::DialogueSession::start(configuration);
    let session = crate::campaign::support::within("a dialogue", started).await?;
    let session = session.map_err(|error| error.to_string())?;
    let shims = shims(&station)?;
    // The request that creates the session is not retried, so the cuts start after it.
    let cutting = async {
        let mut times = tokio::time::interval(EVERY);
        loop {
            times.tick().await;
            proxy.cut_all();
        }
    };
    let talking = async {
        let mut receipt = send(&session, &stage.order.prompt).await?;
        settled(&mut receipt).await?;
        end(&stage, &session).await
    };
    let found = tokio::select! {
        found = talking => found?,
        () = cutting => return Err("the cuts have no end".to_owned()),
    };
    if proxy.severed() == 0 {
        return Err("nothing was cut".to_owned());
    }
    stage.no_process_is_left(&shims).await?;
    whole(&found, &calm.transcript)
}
