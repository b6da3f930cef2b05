//! Tool results of megabytes.

use super::SEED;
use super::agent::Agent;
use super::rng::Rng;
use super::text::{code, numbered, quoted};

/// Lines in the corpus, whatever its size.
const LINES: usize = 35;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Results of 1/70 to 1/9 of the corpus, most of them short: 1 to 8 MB in 70 MB.
pub(super) fn generate(size: usize) -> String {
    let mut agent = Agent::new(SEED ^ 2, size);
    let weights: Vec<usize> = (0..LINES).map(|_| weight(&mut agent.rng)).collect();
    let whole: usize = weights.iter().sum();
    for (number, weight) in weights.into_iter().enumerate() {
        tool_result(&mut agent, number, size / whole * weight);
    }
    agent.out
}

/// Returns a number from 100 to 800, with a mean of 200.
fn weight(rng: &mut Rng) -> usize {
    let share = rng.range(0, 1000) as f64 / 1000.0;
    100 + (700.0 * share.powi(6)) as usize
}

fn tool_result(agent: &mut Agent, number: usize, length: usize) {
    let id = agent.rng.id("toolu_");
    let content = if number % 9 == 4 {
        image(&mut agent.rng, length)
    } else {
        // Line numbers make the text longer by a third.
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
