//! `bowline token`: the named tokens of this machine's runner.

use std::process::ExitCode;

use bowline_runner::{NamedToken, NamedTokenError, NamedTokens};
use serde_json::{Value, json};

use crate::args::{Token, TokenCommand};
use crate::failure::Failure;
use crate::runner::state_dir;
use crate::stdio::print;
use crate::table;

/// Makes, lists or removes tokens.
pub(crate) fn token(options: &Token) -> Result<ExitCode, Failure> {
    let tokens = match &options.token_file {
        Some(file) => NamedTokens::beside(file),
        None => NamedTokens::at(state_dir()?.path().join("tokens")),
    };
    let text = match &options.command {
        TokenCommand::Add { name, scope } => {
            let added = tokens.add(name, *scope, table::now_ms());
            format!("{}\n", added.map_err(failure)?)
        }
        TokenCommand::Ls { list } => {
            let tokens = tokens.list().map_err(failure)?;
            table::list_text(list, &as_json(&tokens), || as_table(&tokens))?
        }
        TokenCommand::Rm { name } => {
            tokens.remove(name).map_err(failure)?;
            format!("removed {name}\n")
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn as_table(tokens: &[NamedToken]) -> String {
    let now = table::now_ms();
    let rows = tokens.iter().map(|it| {
        let age = table::age(now.saturating_sub(it.created_ms) / 1000);
        [it.name.clone(), it.scope.to_string(), age]
    });
    table::format(&["NAME", "SCOPE", "AGE"], rows)
}

fn as_json(tokens: &[NamedToken]) -> Vec<Value> {
    let tokens = tokens
        .iter()
        .map(|it| json!({"name": it.name, "scope": it.scope.name(), "created_ms": it.created_ms}));
    tokens.collect()
}

fn failure(error: NamedTokenError) -> Failure {
    match error {
        NamedTokenError::File(error) => Failure::caused("cannot", &error),
        error => Failure::failed(error),
    }
}
