//! The plan, which the agent writes by a tool (`TodoWrite`).

use bowline_jsonl::{RawJson, Str};

use crate::model::{PlanItem, PlanPriority, PlanState};
use crate::record::{CallId, ThreadId};
use crate::transcript::Transcript;

impl Transcript {
    /// Takes the plan from the input of the tool that replaces it. A sub-agent's is its own.
    pub(crate) fn note_plan(&mut self, call: CallId, input: RawJson<'_>) {
        let record = &self.calls[call];
        let is_plan = matches!(self.names.str(record.name), "TodoWrite" | "todo_write");
        if !is_plan || record.thread != ThreadId::MAIN {
            return;
        }
        if let Some(todos) = input.get("todos") {
            let plan = todos.elements().map(plan_item).collect();
            self.set_neutral(|it| &mut it.plan, plan);
        }
    }
}

fn plan_item(todo: RawJson<'_>) -> PlanItem {
    let text = |key| todo.get(key).and_then(RawJson::as_str).map(Str::decode);
    PlanItem {
        text: text("content").unwrap_or_default().into_owned(),
        state: text("status").map_or(PlanState::Pending, |word| PlanState::of(&word)),
        priority: text("priority").and_then(|word| PlanPriority::of(&word)),
    }
}
