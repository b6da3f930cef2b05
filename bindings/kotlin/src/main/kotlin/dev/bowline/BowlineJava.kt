package dev.bowline

import java.util.concurrent.CompletableFuture
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.future.future

/**
 * Calls for Java, which cannot call `suspend` functions, nor functions with unsigned numbers, whose names are
 * mangled. In Kotlin, use the functions that these call.
 *
 * Cancelling a future ends its call. A future that fails holds the [BowlineException] of the function.
 */
public object BowlineJava {
    private val scope = CoroutineScope(Dispatchers.Default + SupervisorJob())

    private fun <T> future(call: suspend () -> T): CompletableFuture<T> = scope.future { call() }

    /**
     * Starts an agent in [cwd], with the defaults of [DialogueConfiguration]; see [Engine.start].
     *
     * @param args arguments for the agent after those that the library adds.
     * @param runner the runner to start the agent at; a child process of the host if null.
     */
    @JvmStatic
    @JvmOverloads
    public fun start(
        engine: Engine,
        cwd: String,
        args: List<String> = emptyList(),
        runner: RunnerConfiguration? = null,
    ): CompletableFuture<DialogueSession> =
        future { engine.start(DialogueConfiguration(cwd = cwd, args = args, runner = runner)) }

    /** Returns the address of a runner and the credentials for it. */
    @JvmStatic
    public fun runner(url: String, token: String?): RunnerConfiguration = RunnerConfiguration(url, token)

    /** Sends a prompt and waits until it is answered or reaches another final state, which the future holds. */
    @JvmStatic
    public fun prompt(session: DialogueSession, text: String): CompletableFuture<ReceiptState> =
        future { session.send(text).use { it.waitUntilSettled() } }

    /**
     * Reads the next changes from a stream; see [ChangeStream.next]. The future holds null at the end.
     *
     * @param cursor the cursor of the batch before; 0 for the whole transcript.
     * @param coalesceForMs how long to wait for further changes after the first one, in milliseconds.
     */
    @JvmStatic
    @JvmOverloads
    public fun next(stream: ChangeStream, cursor: Long, coalesceForMs: Long = 0): CompletableFuture<ChangeBatch?> =
        future { stream.next(cursor.toULong(), DEFAULT_MAX_COUNT, coalesceForMs.milliseconds.millis) }

    /** Returns the cursor from which to read on after [batch]. */
    @JvmStatic
    public fun cursor(batch: ChangeBatch): Long = batch.cursor.toLong()

    /** Allows the tool of a permission request; see [DialogueSession.respond]. */
    @JvmStatic
    public fun allow(session: DialogueSession, requestId: String): CompletableFuture<Unit> =
        future { session.allow(requestId) }

    /** Denies the tool of a permission request; see [DialogueSession.respond]. */
    @JvmStatic
    public fun deny(session: DialogueSession, requestId: String, reason: String): CompletableFuture<Unit> =
        future { session.deny(requestId, reason) }

    /** Terminates the agent and all of its descendants; see [DialogueSession.terminate]. */
    @JvmStatic
    public fun terminate(session: DialogueSession): CompletableFuture<DialogueEnd> = future { session.terminate() }
}
