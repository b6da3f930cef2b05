//! `bowline ps --watch` on a terminal.

use bowline_transport::ExitStatus;

use crate::screen_model::ScreenCommand;
use crate::test_runner::TestRunner;

#[tokio::test]
async fn watched_list_changes_in_its_place() {
    let served = TestRunner::start();
    let line = ["ps", "--watch"].map(str::to_owned).to_vec();
    let state = ("BOWLINE_STATE_DIR".into(), served.state().into());
    // Its rows are longer than those of this terminal.
    let mut command = ScreenCommand::bowline(line, vec![state], None, (60, 24));
    command.shows("no sessions").await;
    let id = served.shell("exec sleep 1000");
    let start = id.split('-').next().unwrap();
    let text = command.shows(start).await;
    assert!(!text.contains("no sessions"), "{text}");
    served.bowline(&["kill", start]).ok();
    let text = command.shows("signal").await;
    assert_eq!(text.matches(start).count(), 1, "{text}");
    command.keys("\u{3}").await;
    let (_, status) = command.finish().await;
    assert_eq!(status, ExitStatus::Code(0));
}
