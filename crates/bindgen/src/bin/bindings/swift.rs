//! Corrects the Swift sources that UniFFI 0.32.2 generates: cancelling a task ends the call that it
//! awaits. `uniffi.md` in this directory describes the defect.

use crate::Failure;
use crate::correction::{Correction, apply, each, once};

const CORRECTIONS: [Correction; 7] = [
    once(
        "    freeFunc: (UInt64) -> (),
    liftFunc",
        "    freeFunc: (UInt64) -> (),
    cancelFunc: @escaping @Sendable (UInt64) -> (),
    liftFunc",
    ),
    once(
        "    var pollResult: Int8;
    repeat {
",
        "    // Start the call in a cancelled task as well: it may be one that ends something.
    pollFunc(rustFuture, { _, _ in }, 0)
    // A cancelled future is ready at once.
    await withTaskCancellationHandler {
    var pollResult: Int8;
    repeat {
",
    ),
    once(
        "    } while pollResult != UNIFFI_RUST_FUTURE_POLL_READY
",
        "    } while pollResult != UNIFFI_RUST_FUTURE_POLL_READY
    } onCancel: {
        cancelFunc(rustFuture)
    }
",
    ),
    once(
        "            fatalError(\"Cancellation not supported yet\")",
        "            throw CancellationError()",
    ),
    each(
        "            freeFunc: ffi_bowline_ffi_rust_future_free_void,\n",
        "            freeFunc: ffi_bowline_ffi_rust_future_free_void,
            cancelFunc: { ffi_bowline_ffi_rust_future_cancel_void($0) },\n",
    ),
    each(
        "            freeFunc: ffi_bowline_ffi_rust_future_free_u64,\n",
        "            freeFunc: ffi_bowline_ffi_rust_future_free_u64,
            cancelFunc: { ffi_bowline_ffi_rust_future_cancel_u64($0) },\n",
    ),
    each(
        "            freeFunc: ffi_bowline_ffi_rust_future_free_rust_buffer,\n",
        "            freeFunc: ffi_bowline_ffi_rust_future_free_rust_buffer,
            cancelFunc: { ffi_bowline_ffi_rust_future_cancel_rust_buffer($0) },\n",
    ),
];

/// Returns the corrected sources.
pub(crate) fn correct(text: String) -> Result<String, Failure> {
    apply(text, &CORRECTIONS)
}
