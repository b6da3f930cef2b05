//! Corrects the Swift sources that UniFFI 0.32.2 generates: cancelling a task ends the call that it
//! awaits, and results are read from the library's buffer, without Foundation. `uniffi.md` in this directory describes the defects.

use crate::Failure;
use crate::correction::{Correction, apply, each, once};

const CORRECTIONS: [Correction; 15] = [
    once(
        "fileprivate func uniffiRustCallAsync<F, T>(
",
        "/// Holds the cancellation of a call back until its first poll: the call of a cancelled task is to
/// begin as well, since it may be one that ends something.
private final class UniffiCancellation: @unchecked Sendable {
    // For all calls: it is held for a few instructions, and a lock of its own would be a further allocation of each.
    private static let lock = NSLock()
    private var isPolled = false
    private var isCancelled = false

    /// Returns whether a cancellation was held back.
    func polled() -> Bool {
        Self.lock.withLock {
            defer { isPolled = true }
            return !isPolled && isCancelled
        }
    }

    /// Returns whether the call can be cancelled now.
    func cancel() -> Bool {
        Self.lock.withLock {
            isCancelled = true
            return isPolled
        }
    }
}

fileprivate func uniffiRustCallAsync<F, T>(
",
    ),
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
        "    let cancellation = UniffiCancellation()
    // A cancelled future is ready at once.
    await withTaskCancellationHandler {
    var pollResult: Int8;
    repeat {
",
    ),
    once(
        "                uniffiContinuationHandleMap.insert(obj: $0)
            )
        }
    } while pollResult != UNIFFI_RUST_FUTURE_POLL_READY
",
        "                uniffiContinuationHandleMap.insert(obj: $0)
            )
            if cancellation.polled() { cancelFunc(rustFuture) }
        }
    } while pollResult != UNIFFI_RUST_FUTURE_POLL_READY
    } onCancel: {
        if cancellation.cancel() { cancelFunc(rustFuture) }
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
    // Numbers and texts are read from the library's buffer, without `Data` around it and without copies.
    each(
        "(data: Data, offset: Data.Index)",
        "(data: UnsafeRawBufferPointer, offset: Int)",
    ),
    once(
        "fileprivate func createReader(data: Data) ->",
        "fileprivate func createReader(data: UnsafeRawBufferPointer) ->",
    ),
    once(
        "createReader(data: Data(rustBuffer: buf))",
        "createReader(data: UnsafeRawBufferPointer(start: buf.data, count: Int(buf.len)))",
    ),
    once(
        "fileprivate extension Data {
    init(rustBuffer: RustBuffer) {
        self.init(
            bytesNoCopy: rustBuffer.data!,
            count: Int(rustBuffer.len),
            deallocator: .none
        )
    }
}

",
        "",
    ),
    once(
        "    var value: T = 0
    let _ = withUnsafeMutableBytes(of: &value, { reader.data.copyBytes(to: $0, from: range)})
",
        "    let value = reader.data.loadUnaligned(fromByteOffset: range.lowerBound, as: T.self)
",
    ),
    once(
        "count: Int) throws -> Array<UInt8> {",
        "count: Int) throws -> UnsafeRawBufferPointer {",
    ),
    once(
        "    var value = [UInt8](repeating: 0, count: count)
    value.withUnsafeMutableBufferPointer({ buffer in
        reader.data.copyBytes(to: buffer, from: range)
    })
",
        "    let value = UnsafeRawBufferPointer(rebasing: reader.data[range])
",
    ),
];

/// Returns the corrected sources.
pub(crate) fn correct(text: String) -> Result<String, Failure> {
    apply(text, &CORRECTIONS)
}
