package dev.bowline

import com.sun.jna.Callback
import com.sun.jna.CallbackThreadInitializer
import com.sun.jna.Native
import java.nio.charset.MalformedInputException
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.resume
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers

// Called by the generated sources, where `cargo bindings` corrects them.

/**
 * The arguments of one call of the library. If one of them cannot be lowered the call is not made, and
 * those before it are released.
 */
internal class UniffiArguments {
    private val releases = ArrayList<() -> Unit>()

    /** Adds an argument that was lowered before. */
    fun <L> own(converter: FfiConverter<*, L>, lowered: L): L {
        releases += { uniffiRelease { converter.lift(lowered) } }
        return lowered
    }

    /** Lowers an argument and adds it. */
    fun <V, L> lower(converter: FfiConverter<V, L>, value: V): L = try {
        own(converter, converter.lower(value))
    } catch (error: Throwable) {
        releases.forEach { it() }
        throw error
    }
}

/** Releases what [lift] returns: the objects in it and, by lifting, the memory that held it. */
internal inline fun uniffiRelease(lift: () -> Any?) {
    try {
        Disposable.destroy(lift())
    } catch (_: Exception) {
        // The result is an error, or there is none.
    }
}

/** The statuses that a thread does not use. Calls may be nested: one that fails lifts its error with others. */
private val statuses: ThreadLocal<ArrayList<UniffiRustCallStatus>> = ThreadLocal.withInitial { ArrayList() }

/** Returns a status for a call. Its memory is native, so that creating one for each call is expensive. */
internal fun uniffiTakeStatus(): UniffiRustCallStatus = statuses.get().removeLastOrNull() ?: UniffiRustCallStatus()

/** Takes back the status of a call whose error was lifted. */
internal fun uniffiReturnStatus(status: UniffiRustCallStatus) {
    status.code = UNIFFI_CALL_SUCCESS
    status.error_buf.capacity = 0
    status.error_buf.len = 0
    status.error_buf.data = null
    statuses.get().add(status)
}

/**
 * Resumes a coroutine that waits for the library.
 *
 * The calling thread is a worker of the library, which must not run code of the host. A coroutine whose
 * dispatcher would continue on the calling thread, such as [Dispatchers.Unconfined], therefore continues on
 * a thread of [Dispatchers.Default].
 */
internal fun uniffiResume(continuation: CancellableContinuation<Byte>, pollResult: Byte) {
    val dispatcher = continuation.context[ContinuationInterceptor] as? CoroutineDispatcher
    if (dispatcher != null && dispatcher.isDispatchNeeded(continuation.context)) {
        continuation.resume(pollResult)
    } else {
        Dispatchers.Default.dispatch(EmptyCoroutineContext) { continuation.resume(pollResult) }
    }
}

/**
 * Keeps the library's threads attached to the JVM as daemons. Called before the library is used: JNA would
 * otherwise attach and detach them for each callback, creating a thread object each time; without the daemon
 * flag the JVM would not exit.
 */
internal fun uniffiKeepCallbackThreads() {
    val callbacks: List<Callback> = listOf(
        uniffiRustFutureContinuationCallbackImpl,
        uniffiCallbackInterfaceHostTerminal.startCommand,
        uniffiCallbackInterfaceHostTerminal.endCommand,
        uniffiCallbackInterfaceHostTerminal.cleanup,
        uniffiCallbackInterfaceHostTerminal.uniffiFree,
        uniffiCallbackInterfaceHostTerminal.uniffiClone,
        uniffiCallbackInterfaceLogSink.log,
        uniffiCallbackInterfaceLogSink.uniffiFree,
        uniffiCallbackInterfaceLogSink.uniffiClone,
        uniffiCallbackInterfaceTokenProvider.token,
        uniffiCallbackInterfaceTokenProvider.uniffiFree,
        uniffiCallbackInterfaceTokenProvider.uniffiClone,
    )
    for (callback in callbacks) {
        Native.setCallbackThreadInitializer(callback, CallbackThreadInitializer(true, false, "bowline"))
    }
}

/** Makes a callback fail with what [lowerError] returns, or else with a description of [error]. */
internal inline fun uniffiFail(
    status: UniffiRustCallStatus,
    error: Throwable,
    lowerError: () -> RustBuffer.ByValue? = { null },
) {
    val expected = try {
        lowerError()
    } catch (_: Throwable) {
        null
    }
    status.code = if (expected == null) UNIFFI_CALL_UNEXPECTED_ERROR else UNIFFI_CALL_ERROR
    status.error_buf = expected ?: FfiConverterString.lower(describe(error))
}

/** The stack trace of [error] as valid Unicode: a message may contain unpaired surrogates. */
internal fun describe(error: Throwable): String = try {
    error.stackTraceToString().encodeToByteArray().decodeToString()
} catch (_: Throwable) {
    error.javaClass.name
}

/**
 * Returns the length of [text] in UTF-8.
 *
 * @throws MalformedInputException if it contains an unpaired surrogate.
 */
internal fun uniffiUtf8Length(text: String): ULong {
    var length = 0L
    var at = 0
    while (at < text.length) {
        val character = text[at]
        length += when {
            character.code < 0x80 -> 1
            character.code < 0x800 -> 2
            !character.isSurrogate() -> 3
            character.isHighSurrogate() && at + 1 < text.length && text[at + 1].isLowSurrogate() -> {
                at += 1
                4
            }
            else -> throw MalformedInputException(1)
        }
        at += 1
    }
    return length.toULong()
}
