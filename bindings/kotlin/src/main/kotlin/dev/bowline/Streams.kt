package dev.bowline

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/** One frame of a screen at 60 Hz: what comes within it is told as one. */
private val FRAME = 16.milliseconds

/** Most changes or events of one batch. */
private const val MOST: UInt = 10_000u

/**
 * The changes of the transcript, batch by batch. A collector that was cancelled goes on where it
 * was with the cursor of the last batch that it has used. The flow ends with the session.
 *
 * @param from the cursor to begin with; 0 for the beginning.
 * @param most the most changes of one batch; a reset comes whole.
 * @param linger how long to wait for more when something came.
 */
public fun DialogueSession.batches(
    from: ULong = 0u,
    most: UInt = MOST,
    linger: Duration = FRAME,
): Flow<ChangeBatch> = batches({ changes() }, from, most, linger)

/** The changes of a recording, batch by batch; see [DialogueSession.batches]. */
public fun Recording.batches(from: ULong = 0u, most: UInt = MOST): Flow<ChangeBatch> =
    batches({ changes() }, from, most, Duration.ZERO)

/**
 * The transcript each time that it has changed. It is one object, which grows: what is to be kept
 * beyond the next emission must be copied out of it.
 */
public fun DialogueSession.transcripts(linger: Duration = FRAME): Flow<Transcript> =
    fold(batches(linger = linger))

/** The transcript of a recording each time that it has changed; see [DialogueSession.transcripts]. */
public fun Recording.transcripts(): Flow<Transcript> = fold(batches())

/** What happens in the session from now on, event by event. */
public fun DialogueSession.happenings(
    limits: EventLimits? = null,
    linger: Duration = Duration.ZERO,
): Flow<HeardDialogueEvent> =
    pull({ events(limits) }, linger) { cursor, millis -> next(cursor, MOST, millis)?.let { it.cursor to it.events } }

/** What the shell tells, from the oldest line kept or from now on. */
public fun ShellSession.happenings(
    fromStart: Boolean = true,
    linger: Duration = Duration.ZERO,
): Flow<SessionEvent> =
    pull({ events(fromStart) }, linger) { cursor, millis -> next(cursor, MOST, millis)?.let { it.cursor to it.events } }

/** What all sessions of the manager tell from now on. */
public fun SessionManager.happenings(linger: Duration = Duration.ZERO): Flow<SessionEvent> =
    pull({ events() }, linger) { cursor, millis -> next(cursor, MOST, millis)?.let { it.cursor to it.events } }

/** The hooks from now on. */
public fun HookServer.happenings(linger: Duration = Duration.ZERO): Flow<HookNews> =
    pull({ events() }, linger) { cursor, millis -> next(cursor, MOST, millis)?.let { it.cursor to it.events } }

/** The questions of the gate, once: there is one who decides. */
public fun HookServer.asked(): Flow<HookQuestion> =
    pull({ questions() }, Duration.ZERO) { cursor, millis -> next(cursor, 1u, millis)?.let { it.cursor to it.events } }

/** The hooks of the executor from now on. */
public fun TerminalExecutor.happenings(linger: Duration = Duration.ZERO): Flow<HookNews> =
    pull({ hooks() }, linger) { cursor, millis -> next(cursor, MOST, millis)?.let { it.cursor to it.events } }

/** The questions of the hooks' gate, once: there is one who decides. */
public fun TerminalExecutor.asked(): Flow<HookQuestion> =
    pull({ questions() }, Duration.ZERO) { cursor, millis -> next(cursor, 1u, millis)?.let { it.cursor to it.events } }

private fun batches(open: () -> ChangeStream, from: ULong, most: UInt, linger: Duration): Flow<ChangeBatch> = flow {
    open().use { stream ->
        var cursor = from
        while (true) {
            val batch = stream.next(cursor, most, linger.millis) ?: break
            cursor = batch.cursor
            emit(batch)
        }
    }
}

internal fun fold(batches: Flow<ChangeBatch>): Flow<Transcript> = flow {
    val transcript = Transcript()
    batches.collect { batch ->
        transcript.apply(batch)
        emit(transcript)
    }
}

private fun <S : AutoCloseable, E> pull(
    open: () -> S,
    linger: Duration,
    next: suspend S.(ULong, UInt) -> Pair<ULong, List<E>>?,
): Flow<E> = flow {
    open().use { stream ->
        var cursor: ULong = 0u
        while (true) {
            val (behind, events) = stream.next(cursor, linger.millis) ?: break
            events.forEach { emit(it) }
            cursor = behind
        }
    }
}

private val Duration.millis: UInt get() = inWholeMilliseconds.coerceIn(0, Int.MAX_VALUE.toLong()).toUInt()
