//! Tool results of megabytes.

use super::SEED;
use super::agent::{Agent, tool_use_block};
use super::rng::Rng;
use super::text::{code, numbered, quoted};

/// Calls in the corpus, whatever its size; each is two lines.
const CALLS: usize = 18;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Results of 1/64 to 1/8 of the corpus: 1 to 8 MB in 64 MB.
pub(super) fn generate(size: usize) -> String {
    let mut agent = Agent::new(SEED ^ 2, size);
    let weights: Vec<usize> = (0..CALLS).map(|_| agent.rng.range(8, 65)).collect();
    let whole: usize = weights.iter().sum();
    for (number, weight) in weights.into_iter().enumerate() {
        call(&mut agent, number, size / whole * weight);
    }
    agent.out
}

fn call(agent: &mut Agent, number: usize, length: usize) {
    agent.next_message();
    let id = agent.rng.id("toolu_");
    let input = r#"{"file_path":"/home/dev/project/all.rs","allow_large":true}"#;
    agent.assistant(&tool_use_block(&id, "Read", input));
    let content = if number % 9 == 4 {
        image(&mut agent.rng, length)
    } else {
        // A numbered line is longer than the code in it by a third.
        quoted(&numbered(&code(&mut agent.rng, length * 2 / 3)))
    };
    agent.tool_result(&id, &content, None);
}

fn image(rng: &mut Rng, length: usize) -> String {
    let data: String = (0..length)
        .map(|_| char::from(BASE64[(rng.next() % 64) as usize]))
        .collect();
    format!(
        r#"[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}]"#
    )
}
