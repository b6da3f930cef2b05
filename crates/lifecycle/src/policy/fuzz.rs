//! Feeds arbitrary policies and requests to the rules and checks their invariants.

use serde_json::{Value, json};

use super::{Policy, PolicyRequest, PolicyVerdict, RuleDecision};

/// Parses the text before the first NUL byte as a policy, and decides on the requests after it: each a tool's name
/// and its input as JSON, with NUL bytes between.
///
/// # Errors
///
/// Returns the violated invariant.
pub fn policy(data: &[u8]) -> Result<(), String> {
    let mut parts = data.split(|&byte| byte == 0);
    let Ok(text) = std::str::from_utf8(parts.next().unwrap_or_default()) else {
        return Ok(());
    };
    let policy = match Policy::parse(text, "p") {
        Ok(policy) => policy.with_home("/home/me"),
        Err(error) => {
            let lines = text.matches('\n').count() + 1;
            return if (1..=lines).contains(&error.line) {
                Ok(())
            } else {
                Err(format!("{error}: the policy has {lines} lines"))
            };
        }
    };
    while let (Some(tool), Some(input)) = (parts.next(), parts.next()) {
        let tool = String::from_utf8_lossy(tool);
        let input = serde_json::from_slice(input).unwrap_or_else(|_| json!({}));
        check(&policy, &tool, &input)?;
    }
    Ok(())
}

fn check(policy: &Policy, tool: &str, input: &Value) -> Result<(), String> {
    use RuleDecision::{Allow, Ask, Deny};
    let verdict = decide(policy, tool, input);
    let is_by_rule = !verdict.rule.is_empty() && !verdict.rule.starts_with("default in ");
    for more in [Allow, Ask, Deny] {
        let more_rules = of_all(more)?;
        let both = decide(&policy.and(&more_rules), tool, input);
        let reversed = decide(&more_rules.and(policy), tool, input);
        let is_wrong = reversed.decision != both.decision
            || more == Deny && both.decision != Deny
            || more == Ask && both.decision == Allow
            || is_by_rule && verdict.decision == Deny && both.decision != Deny
            || is_by_rule && verdict.decision == Ask && both.decision == Allow;
        if is_wrong {
            return Err(format!(
                "{verdict:?}; with {more:?} for all tools {both:?}, reversed {reversed:?}"
            ));
        }
    }
    let command = input["command"].as_str();
    if let Some(command) = command.filter(|_| is_by_rule && verdict.decision == Deny) {
        let mut longer = input.clone();
        longer["command"] = format!("true\n{command}").into();
        let after = decide(policy, tool, &longer);
        if after.decision != Deny {
            return Err(format!("{verdict:?}, but after another command {after:?}"));
        }
    }
    Ok(())
}

/// Decides on a request of a session in `/srv/app`, where no symbolic link is.
fn decide(policy: &Policy, tool: &str, input: &Value) -> PolicyVerdict {
    let mut request = PolicyRequest::new(tool, input, Some("/srv/app".to_owned()), None);
    let paths = request.paths_to_resolve();
    request.set_resolved(paths.into_iter().map(Some).collect());
    policy.decide(&request)
}

/// Returns the policy that makes this decision for every tool.
fn of_all(decision: RuleDecision) -> Result<Policy, String> {
    let word = match decision {
        RuleDecision::Allow => "allow",
        RuleDecision::Ask => "ask",
        RuleDecision::Deny => "deny",
    };
    let text = format!("[[rule]]\ndecision = \"{word}\"\ntool = \"*\"\n");
    let policy = Policy::parse(&text, "more").map_err(|error| error.to_string())?;
    Ok(policy.with_home("/home/me"))
}
