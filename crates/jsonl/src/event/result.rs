//! `result` lines (PROTOCOL.md, Results).

use crate::event::message::{Origin, Usage};
use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `result`: the end of a turn. It does not end the process. Failures of the API have
    /// `subtype: "success"` with `is_error: true`.
    pub TurnResult<'a> {
        /// Time in the API in milliseconds.
        duration_api_ms: Option<u64> = "duration_api_ms",
        /// The API's reason for the last response.
        stop_reason: Option<Str<'a>> = "stop_reason",
        /// Cost of the process so far in US dollars; cumulative.
        total_cost_usd: Option<f64> = "total_cost_usd",
        /// Tokens of this turn in the main conversation.
        usage: Option<Usage> = "usage",
        /// Tokens per model; cumulative. See [`TurnResult::models`].
        model_usage: Option<RawJson<'a>> = "modelUsage",
        /// Tool calls that were denied in the turn, an array.
        permission_denials: Option<RawJson<'a>> = "permission_denials",
        /// Why the turn ended: `completed`, `aborted_streaming`, `api_error`, …
        terminal_reason: Option<Str<'a>> = "terminal_reason"
            often r#""fast_mode_state":"off","fast_mode_disabled_reason":"sdk_opt_in_required""#
            often r#""subagent_stats":{"spawned":0,"requested":{"background":0,"foreground":0,"unset":0},"started_in_background":0,"max_depth":0,"spawned_by_subagents":0,"completed":0,"failed":0,"killed":{"parent":0,"user":0,"system":0},"refused":{"depth_limit":0,"concurrency_limit":0,"budget":0},"by_type":{}}"#
            then "fast_mode_state" then "fast_mode_disabled_reason" then "subagent_stats" then "safety_stops",
        /// Whether the turn failed; independent of `subtype`.
        is_error: bool = "is_error",
        /// Number of model calls.
        num_turns: Option<u64> = "num_turns",
        /// `success`, `error_during_execution`, `error_max_turns`, …
        subtype: Option<Str<'a>> = "subtype",
        /// HTTP status of the failed call.
        api_error_status: Option<u32> = "api_error_status",
        /// The final text; absent on error subtypes.
        result: Option<Str<'a>> = "result" then "ttft_ms",
        /// Wall time of the turn in milliseconds.
        duration_ms: Option<u64> = "duration_ms" then "ttft_stream_ms" then "time_to_request_ms" then "first_content_frame_ms",
        /// Number of waiting prompts.
        queued_turn_count: Option<u64> = "queued_turn_count",
        /// Number of the result in the process, from 0.
        result_index: Option<u64> = "result_index" (copied "model_usage_since_last_result" from model_usage),
        /// Messages of error subtypes, an array of strings.
        errors: Option<RawJson<'a>> = "errors",
        /// The prompt that the turn answered last.
        user_message_uuid: Option<Str<'a>> = "user_message_uuid",
        /// All prompts that the turn consumed.
        user_message_uuids: Option<RawJson<'a>> = "user_message_uuids",
        /// The origin of a turn that the host did not start.
        origin: Option<Box<Origin<'a>>> = "origin",
        /// The answer in the host's JSON schema.
        structured_output: Option<RawJson<'a>> = "structured_output",
        /// A tool call that a hook deferred; the turn is suspended.
        deferred_tool_use: Option<RawJson<'a>> = "deferred_tool_use",
        /// Why the agent could not start.
        startup_failure_reason: Option<Str<'a>> = "startup_failure_reason",
    }
}

record! {
    /// Usage of one model in the process so far.
    pub ModelUsage {
        /// Tokens sent.
        input_tokens: Option<u64> = "inputTokens",
        /// Tokens received.
        output_tokens: Option<u64> = "outputTokens",
        /// Tokens read from the cache.
        cache_read_tokens: Option<u64> = "cacheReadInputTokens",
        /// Tokens written to the cache.
        cache_creation_tokens: Option<u64> = "cacheCreationInputTokens",
        /// Cost in US dollars.
        cost_usd: Option<f64> = "costUSD",
        /// Size of the context in tokens.
        context_window: Option<u64> = "contextWindow",
    }
}

impl<'a> TurnResult<'a> {
    /// Returns the usage of each model in the process so far.
    pub fn models(&self) -> impl Iterator<Item = (Str<'a>, ModelUsage)> + use<'a> {
        self.model_usage
            .into_iter()
            .flat_map(RawJson::members)
            .map(|(model, usage)| (model, usage.parse_as()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Body, Framer};

    fn tokens(since: &str) -> Option<Option<u64>> {
        let line = format!(
            r#"{{"usage":{{"input_tokens":1}},"modelUsage":{{"m":{{"inputTokens":7}}}},"subtype":"success","type":"result","result_index":0,"model_usage_since_last_result":{since},"errors":[]}}"#
        );
        let mut framer = Framer::default();
        framer.push(line.into());
        framer.finish();
        let event = framer.next_frame()?.items().next()?.event.ok()?;
        let Body::Result(result) = event.body else {
            return None;
        };
        result.errors?;
        result.models().next().map(|(_, usage)| usage.input_tokens)
    }

    #[test]
    fn usage_since_last_result_may_be_any_value() {
        let copy = r#"{"m":{"inputTokens":7}}"#;
        for since in [
            copy,
            r#"{"m":{"inputTokens":70}}"#,
            "{}",
            "null",
            "[7]",
            "\"x\"",
        ] {
            assert_eq!(tokens(since), Some(Some(7)), "{since}");
        }
        for broken in [
            &format!("{copy}}}"),
            &format!("{copy}0"),
            "{",
            r#"{"m":{"inputTokens":7}"#,
        ] {
            assert_eq!(tokens(broken), None, "{broken}");
        }
    }
}
