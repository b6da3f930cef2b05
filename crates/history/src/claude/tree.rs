//! Which lines of a file belong to the conversation: a rewound prompt or a second process leaves
//! branches that it did not go on from.

use std::collections::{HashMap, HashSet};

use super::line::Line;

/// Returns for each line whether it belongs to the branch that ends with the last leaf.
///
/// Lines without a uuid, and damaged ones, belong to every branch. The chain of parents leads through
/// one of several parallel tool calls; the other calls of its messages, and their results, belong to it
/// as well. All lines of a sub-agent's file are of the side chain.
pub(super) fn branch(lines: &[Line<'_>], is_agent: bool) -> Vec<bool> {
    let mut chosen: Vec<bool> = lines.iter().map(|line| line.uuid.is_none()).collect();
    let is_node = |line: &Line<'_>| line.uuid.is_some() && (is_agent || !line.is_sidechain);
    let mut numbers = HashMap::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| is_node(line)) {
        numbers
            .entry(line.uuid.unwrap_or_default())
            .or_insert(number);
    }
    let last = |lines: &[Line<'_>]| lines.iter().rposition(is_node);
    let mut messages = HashSet::new();
    let mut at = last(lines);
    while let Some(number) = at.filter(|&number| !chosen[number]) {
        let line = &lines[number];
        chosen[number] = true;
        messages.extend(line.message_id);
        at = line.parent.and_then(|parent| match numbers.get(parent) {
            Some(&number) => Some(number),
            // The parent was lost, by a crash or a clean-up: the line before is the best guess.
            None => last(&lines[..number]),
        });
    }
    let mut calls = HashSet::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| is_node(line)) {
        let is_sibling = line.message_id.is_some_and(|id| messages.contains(id));
        let is_result =
            !line.results.is_empty() && line.results.iter().all(|id| calls.contains(id));
        chosen[number] |= is_sibling || is_result;
        if chosen[number] {
            calls.extend(line.calls.iter().copied());
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::line::lines;
    use super::*;

    /// `uuid parent content` a line, where the content is `>m:call` for a message with a call, `<call`
    /// for a result, or anything else for a prompt.
    fn chosen(text: &str) -> Vec<String> {
        let mut file = String::new();
        for line in text.split_whitespace().collect::<Vec<_>>().chunks(3) {
            let [uuid, parent, content] = line else {
                panic!("{line:?}")
            };
            let message = match content.split_at(1) {
                (">", call) => {
                    let (id, call) = call.split_once(':').unwrap();
                    format!(r#"{{"id":"{id}","content":[{{"type":"tool_use","id":"{call}"}}]}}"#)
                }
                ("<", call) => {
                    format!(r#"{{"content":[{{"type":"tool_result","tool_use_id":"{call}"}}]}}"#)
                }
                _ => format!(r#"{{"content":"{content}"}}"#),
            };
            file.push_str(&format!(
                "{{\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\",\"message\":{message}}}\n"
            ));
        }
        let lines = lines(file.as_bytes());
        let chosen = branch(&lines, false);
        let uuids = lines.iter().zip(chosen).filter(|(_, chosen)| *chosen);
        uuids
            .map(|(line, _)| line.uuid.unwrap().to_owned())
            .collect()
    }

    #[test]
    fn abandoned_branch_is_left_out() {
        assert_eq!(chosen("a - hi b a one c a two d c end"), ["a", "c", "d"]);
    }

    #[test]
    fn parallel_calls_and_their_results_belong_to_the_branch() {
        let file = "a - hi b a >m:x c b >m:y d b <x e c <y f e end";
        assert_eq!(chosen(file), ["a", "b", "c", "d", "e", "f"]);
        // The chain leads through the result of the first call.
        let file = "a - hi b a >m:x c b >m:y e c <y d b <x f d end";
        assert_eq!(chosen(file), ["a", "b", "c", "e", "d", "f"]);
        let abandoned = "a - hi b a >m:x c b <x d a again";
        assert_eq!(chosen(abandoned), ["a", "d"]);
    }

    #[test]
    fn lost_parent_is_bridged_and_a_cycle_ends() {
        assert_eq!(chosen("a - hi b lost more c b end"), ["a", "b", "c"]);
        assert_eq!(chosen("a c hi b a more c b end"), ["a", "b", "c"]);
        assert_eq!(chosen("a a hi"), ["a"]);
    }
}
