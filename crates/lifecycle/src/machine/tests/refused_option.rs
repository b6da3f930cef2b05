//! An option that an older agent does not know.

use super::*;

#[test]
fn refused_option_is_reason_of_end() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Stderr(
        "error: unknown option '--effort=high'\n".into(),
    ));
    fixture.exit(1);
    let option = fixture.machine.unknown_option().expect("a refused option");
    assert_eq!(option.option, "--effort");
    let wanted = "exit code 1: the agent does not know --effort; update it to 2.1.100 or later, \
                  or omit the option";
    assert_eq!(fixture.machine.end_summary(), (false, wanted.to_owned()));
}

/// Standard error is part of a terminal's output, where other text may come before.
#[test]
fn refused_option_is_found_in_output_of_terminal() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Output(
        "warning: low disk\r\nerror: unknown option '--eff".into(),
    ));
    fixture.input(Input::Output("ort=high'\r\n(Did you mean --x?)\r\n".into()));
    fixture.exit(1);
    let option = fixture.machine.unknown_option().expect("a refused option");
    assert_eq!(option.option, "--effort");
    let (is_expected, reason) = fixture.machine.end_summary();
    assert!(
        !is_expected && reason.ends_with(&option.to_string()),
        "{reason}"
    );
}

#[test]
fn tool_output_on_terminal_is_no_refused_option() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(r#"{"type":"system","subtype":"init","uuid":"a"}"#);
    fixture.agent("error: unknown option '--effort'");
    fixture.exit(1);
    assert_eq!(fixture.machine.unknown_option(), None);
}

#[test]
fn agent_with_output_has_refused_no_option() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(r#"{"type":"system","subtype":"init","uuid":"a"}"#);
    fixture.input(Input::Stderr("error: unknown option '--effort'\n".into()));
    fixture.exit(1);
    assert_eq!(fixture.machine.unknown_option(), None);
}
