//! Corrects the Kotlin sources that UniFFI 0.32.2 generates. `uniffi.md` in this directory describes the
//! defects.
//!
//! The functions that the corrected sources call are in `Uniffi.kt` of the Kotlin library.

use crate::Failure;
use crate::correction::{Correction, apply, each, once};

/// A cancelled call releases its result, and continuations run on threads of the caller's dispatcher.
const CALLS: [Correction; 4] = [
    once(
        "    try {
        do {
            val pollResult",
        "    var isComplete = false
    try {
        do {
            val pollResult",
    ),
    once(
        "        return liftFunc(
            uniffiRustCallWithError(errorHandler, { status -> completeFunc(rustFuture, status) })
        )
    } finally {
",
        "        isComplete = true
        return liftFunc(
            uniffiRustCallWithError(errorHandler, { status -> completeFunc(rustFuture, status) })
        )
    } finally {
        if (!isComplete) {
            // Cancelled. The result may be ready, and freeing the future would not release it.
            uniffiRelease {
                liftFunc(uniffiRustCallWithError(errorHandler, { status -> completeFunc(rustFuture, status) }))
            }
        }
",
    ),
    once(
        "uniffiContinuationHandleMap.remove(data).resume(pollResult)",
        "uniffiResume(uniffiContinuationHandleMap.remove(data), pollResult)",
    ),
    once("import kotlin.coroutines.resume\n", ""),
];

/// A thread uses the status of its last call again, so that calls leave nothing to the garbage collector.
const STATUS: Correction = once(
    "    var status = UniffiRustCallStatus()
    val return_value = callback(status)
    uniffiCheckCallStatus(errorHandler, status)
    return return_value
",
    "    val status = uniffiTakeStatus()
    try {
        val returned = callback(status)
        uniffiCheckCallStatus(errorHandler, status)
        return returned
    } finally {
        uniffiReturnStatus(status)
    }
",
);

/// Every throwable of a callback, also a `java.lang.Error`, becomes the callback's failure.
const CALLBACKS: [Correction; 2] = [
    once(
        "    } catch(e: kotlin.Exception) {
        val err = try { e.stackTraceToString() } catch(_: Throwable) { \"\" }
        callStatus.code = UNIFFI_CALL_UNEXPECTED_ERROR
        callStatus.error_buf = FfiConverterString.lower(err)
    }
",
        "    } catch(e: Throwable) {
        uniffiFail(callStatus, e)
    }
",
    ),
    once(
        "    } catch(e: kotlin.Exception) {
        if (e is E) {
            callStatus.code = UNIFFI_CALL_ERROR
            callStatus.error_buf = lowerError(e)
        } else {
            val err = try { e.stackTraceToString() } catch(_: Throwable) { \"\" }
            callStatus.code = UNIFFI_CALL_UNEXPECTED_ERROR
            callStatus.error_buf = FfiConverterString.lower(err)
        }
    }
",
        "    } catch(e: Throwable) {
        uniffiFail(callStatus, e) { if (e is E) lowerError(e) else null }
    }
",
    ),
];

/// Threads of the library stay attached, whichever call is the first.
const LOADING: Correction = once(
    "        uniffiCallbackInterfaceHostTerminal.register(this)
",
    "        uniffiKeepCallbackThreads()
        uniffiCallbackInterfaceHostTerminal.register(this)
",
);

/// Objects and strings are checked before anything is handed over.
const ARGUMENTS: [Correction; 2] = [
    each(
        "return value.uniffiCloneHandle()",
        "return value.callWithHandle { it }",
    ),
    once(
        "        val sizeForString = value.length.toULong() * 3UL
",
        "        val sizeForString = uniffiUtf8Length(value)
",
    ),
];

/// Declarations that only the library itself uses are not part of its API.
const VISIBILITY: [Correction; 16] = [
    each(
        "\npublic object FfiConverter",
        "\ninternal object FfiConverter",
    ),
    each(
        "\npublic interface FfiConverter",
        "\ninternal interface FfiConverter",
    ),
    once(
        "\npublic abstract class FfiConverterCallbackInterface",
        "\ninternal abstract class FfiConverterCallbackInterface",
    ),
    once(
        "\nopen class RustBuffer",
        "\ninternal open class RustBuffer",
    ),
    once(
        "\ninterface UniffiRustCallStatusErrorHandler",
        "\ninternal interface UniffiRustCallStatusErrorHandler",
    ),
    once(
        "\nobject UniffiNullRustCallStatusErrorHandler",
        "\ninternal object UniffiNullRustCallStatusErrorHandler",
    ),
    once(
        "    companion object ErrorHandler : UniffiRust",
        "    internal companion object ErrorHandler : UniffiRust",
    ),
    once(
        "\ninterface UniffiCleaner {",
        "\ninternal interface UniffiCleaner {",
    ),
    once(
        "\nobject UniffiWithHandle",
        "\ninternal object UniffiWithHandle",
    ),
    once("\nobject NoHandle", "\ninternal object NoHandle"),
    each(
        "    constructor(withHandle: UniffiWithHandle",
        "    internal constructor(withHandle: UniffiWithHandle",
    ),
    each(
        "    constructor(noHandle: NoHandle",
        "    internal constructor(noHandle: NoHandle",
    ),
    each(
        "    protected val handle: Long",
        "    private val handle: Long",
    ),
    each(
        "    protected val cleanable: UniffiCleaner",
        "    private val cleanable: UniffiCleaner",
    ),
    each(
        "    fun uniffiCloneHandle()",
        "    internal fun uniffiCloneHandle()",
    ),
    once(
        "\npublic fun uniffiEnsureInitialized()",
        "\ninternal fun uniffiEnsureInitialized()",
    ),
];

/// Converters that cannot fail and hold nothing.
const PLAIN_CONVERTERS: [&str; 6] = [
    "FfiConverterBoolean",
    "FfiConverterDouble",
    "FfiConverterInt",
    "FfiConverterUInt",
    "FfiConverterULong",
    "FfiConverterUShort",
];

/// Returns the corrected sources.
pub(crate) fn correct(text: &str) -> Result<String, Failure> {
    let corrections = CALLS.iter().chain(&CALLBACKS);
    let corrections = corrections.chain([&STATUS, &LOADING]);
    let corrections = corrections.chain(&ARGUMENTS).chain(&VISIBILITY);
    apply(lower_arguments(text)?, corrections)
}

/// Lowers the arguments of each call in a `UniffiArguments`, which releases those that were lowered if a
/// later one fails. The object of a method counts as its first argument.
fn lower_arguments(text: &str) -> Result<String, Failure> {
    const CALL: &str = "UniffiLib.uniffi_bowline_ffi_fn_";
    let mut output = String::with_capacity(text.len() + text.len() / 50);
    let mut class = String::new();
    let mut calls = 0;
    let mut rest = text;
    while let Some((before, call)) = rest.split_once(CALL) {
        for line in before.lines() {
            if let Some(declared) = line.strip_prefix("open class ") {
                let name = declared.split([':', ' ', '(']).next().unwrap_or_default();
                class = name.trim_end_matches("Impl").to_owned();
            }
        }
        let (name, list) = call.split_once('(').ok_or("a call has no arguments")?;
        let (list, after) = split_closing(list).ok_or("the arguments of a call do not end")?;
        let arguments = split_arguments(list);
        output.push_str(before);
        if arguments.iter().any(|it| fallible(it).is_some()) {
            let lowered: Vec<_> = arguments.iter().map(|it| owned(it, &class)).collect();
            let lowered = lowered.join(", ");
            output.push_str(&format!(
                "UniffiArguments().run {{ {CALL}{name}({lowered}) }}"
            ));
            calls += 1;
        } else {
            output.push_str(&format!("{CALL}{name}({list})"));
        }
        rest = after;
    }
    output.push_str(rest);
    if calls == 0 {
        return Err("no call of the Kotlin sources has arguments to lower".into());
    }
    Ok(output)
}

/// Splits a text at the parenthesis that closes one before it.
fn split_closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    let closing = text.find(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let (list, after) = text.split_at(closing?);
    Some((list, after.strip_prefix(')')?))
}

/// Splits a list of arguments at its commas. Arguments contain none themselves.
fn split_arguments(text: &str) -> Vec<&str> {
    let arguments = text.split(',').map(str::trim);
    arguments.filter(|it| !it.is_empty()).collect()
}

/// Returns the converter and the value of an argument whose lowering can fail.
fn fallible(argument: &str) -> Option<(&str, &str)> {
    let (converter, value) = argument.strip_suffix(')')?.split_once(".lower(")?;
    (!PLAIN_CONVERTERS.contains(&converter)).then_some((converter, value))
}

/// Returns the argument as an expression within a `UniffiArguments`.
fn owned(argument: &str, class: &str) -> String {
    match (argument, fallible(argument)) {
        ("it" | "uniffiHandle", _) => format!("own(FfiConverterType{class}, {argument})"),
        (_, Some((converter, value))) => format!("lower({converter}, {value})"),
        _ => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_and_arguments_are_released_together() {
        let text = "open class Engine: Disposable\n\
            callWithHandle { UniffiLib.uniffi_bowline_ffi_fn_method_engine_find(\n    it,\n\n\
            FfiConverterString.lower(`a`),FfiConverterUInt.lower(`b`),_status)\n}";
        let lowered = lower_arguments(text).expect("the text has a call");
        let call = "UniffiArguments().run { UniffiLib.uniffi_bowline_ffi_fn_method_engine_find(\
            own(FfiConverterTypeEngine, it), lower(FfiConverterString, `a`), \
            FfiConverterUInt.lower(`b`), _status) }\n}";
        assert!(lowered.ends_with(call), "{lowered}");
    }

    #[test]
    fn call_without_fallible_arguments_is_unchanged() {
        let plain = "UniffiLib.uniffi_bowline_ffi_fn_func_f(FfiConverterUInt.lower(`b`),_status)";
        let fallible = "UniffiLib.uniffi_bowline_ffi_fn_func_g(FfiConverterString.lower(`b`))";
        let lowered = lower_arguments(&format!("{plain} {fallible}")).expect("one call");
        assert!(
            lowered.starts_with(&format!("{plain} UniffiArguments")),
            "{lowered}"
        );
    }
}
