//! Output of `/usage`, `/inspect`, `/model` and `/mode`.

use std::collections::BTreeMap;

use bowline_reducer::Transcript;

use crate::text::one_line;

/// Cost, tokens, context and limits.
pub(super) fn usage(transcript: &Transcript) -> String {
    let usage = transcript.usage();
    let mut out = format!("  ${:.4} so far\n", usage.cost_usd());
    for (model, used) in usage.models() {
        out.push_str(&format!(
            "  {}: {} in, {} out, {} read from the cache, {} written to it\n",
            one_line(model, 60),
            used.input_tokens,
            used.output_tokens,
            used.cache_read_tokens,
            used.cache_creation_tokens,
        ));
    }
    let session = transcript.session();
    if let Some(used) = session.context_used() {
        let size = session.context_size();
        let size = size.map_or_else(String::new, |size| format!(" of {size}"));
        out.push_str(&format!("  context: {used}{size} tokens\n"));
    }
    for limit in session.limits() {
        let used = limit.used_share;
        let used = used.map_or_else(|| "?".to_owned(), |it| format!("{:.0}", it * 100.0));
        out.push_str(&format!(
            "  limit {}: {used} % used\n",
            one_line(&limit.window, 40)
        ));
    }
    out
}

/// Counts the parts of the session.
pub(super) fn counts(transcript: &Transcript) -> String {
    let stats = transcript.stats();
    let mut tools = BTreeMap::<_, usize>::new();
    let calls = transcript.threads().flat_map(|it| it.tool_calls().iter());
    for call in calls {
        *tools.entry(call.name()).or_default() += 1;
    }
    let tools: Vec<_> = tools
        .iter()
        .map(|(name, count)| format!("{} {count}", one_line(name, 40)))
        .collect();
    let tools = if tools.is_empty() {
        "none".to_owned()
    } else {
        tools.join(", ")
    };
    format!(
        "  {} entries; tool calls: {tools}\n  {} bytes, {} lines, {} events, {} duplicates, {} parse errors\n",
        transcript.entries().count(),
        stats.bytes(),
        stats.lines(),
        stats.events(),
        stats.duplicates(),
        stats.parse_errors(),
    )
}

/// The values of an option; the current one is marked.
pub(super) fn option(transcript: &Transcript, id: &str) -> String {
    let session = transcript.session();
    let option = session.options().iter().find(|it| it.id == id);
    let Some(option) = option.filter(|it| !it.choices.is_empty()) else {
        return format!("  the agent lists no values; /{id} NAME sets one\n");
    };
    let mut out = String::new();
    for choice in &option.choices {
        let is_current = option.value.as_ref() == Some(&choice.id);
        let mark = if is_current { "*" } else { " " };
        let about = choice.description.as_deref().unwrap_or_default();
        out.push_str(&format!(
            "  {mark} {:<20} {}\n",
            one_line(&choice.id, 40),
            one_line(about, 80)
        ));
    }
    out
}
