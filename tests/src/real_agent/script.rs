//! The script of the model.

use std::collections::VecDeque;

use super::{Answer, ApiError, Request};

/// Decides the response to each request of the conversation and of its sub-agents.
///
/// Any `FnMut(&Request) -> Answer` is a script; [`Lanes`] covers lists of answers.
pub trait Script: Send + 'static {
    /// Returns the answer to this request.
    fn answer(&mut self, request: &Request) -> Answer;
}

impl<F: FnMut(&Request) -> Answer + Send + 'static> Script for F {
    fn answer(&mut self, request: &Request) -> Answer {
        self(request)
    }
}

/// Lists of answers, each consumed in order: one for the main thread, one for each sub-agent.
///
/// A sub-agent's list is chosen by a piece of the prompt that its conversation opens with, so
/// answers stay in place whatever order concurrent agents ask in. A request beyond the end of its
/// list gets a 400 that says so, unless [`Lanes::beyond`] has an answer for it.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    main: VecDeque<Answer>,
    agents: Vec<(String, VecDeque<Answer>)>,
    beyond: Option<Answer>,
}

impl Lanes {
    /// Answers for the main thread.
    #[must_use]
    pub fn main<A: Into<Answer>>(answers: impl IntoIterator<Item = A>) -> Self {
        Self {
            main: answers.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Answers for the conversation that opens with a prompt containing `marker`.
    #[must_use]
    pub fn agent<A: Into<Answer>>(
        mut self,
        marker: &str,
        answers: impl IntoIterator<Item = A>,
    ) -> Self {
        self.agents.push((
            marker.to_owned(),
            answers.into_iter().map(Into::into).collect(),
        ));
        self
    }

    /// The answer to every request beyond the end of its list.
    ///
    /// An API error that is to last needs this: before the agent believes a 400 it asks several
    /// times more, leaving out one feature after the other.
    #[must_use]
    pub fn beyond(mut self, answer: impl Into<Answer>) -> Self {
        self.beyond = Some(answer.into());
        self
    }

    /// Stops the first answer of the main thread at a gate, as [`Reply::hold_after`](super::Reply::hold_after) does.
    #[must_use]
    pub fn held_after(mut self, events: usize, gate: &str) -> Self {
        if let Some(Answer::Reply(reply)) = self.main.front_mut() {
            reply.hold = Some((events, gate.to_owned()));
        }
        self
    }

    fn lane(&mut self, opening: &str) -> &mut VecDeque<Answer> {
        let agent = self
            .agents
            .iter_mut()
            .find(|(marker, _)| opening.contains(marker.as_str()));
        agent.map_or(&mut self.main, |(_, answers)| answers)
    }
}

impl Script for Lanes {
    fn answer(&mut self, request: &Request) -> Answer {
        let next = self.lane(&request.opening()).pop_front();
        next.or_else(|| self.beyond.clone())
            .unwrap_or_else(|| unscripted(request).into())
    }
}

fn unscripted(request: &Request) -> ApiError {
    let message = format!(
        "the script has no answer left; the last message was {:?}",
        request.latest()
    );
    ApiError::new(400, "invalid_request_error", &message)
}
