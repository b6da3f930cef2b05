package dev.bowline

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/** One frame of a display at 60 Hz. */
private val FRAME = 16.milliseconds

/** The maximum number of changes or events in a batch, unless given. */
internal const val DEFAULT_MAX_COUNT: UInt = 10_000u

/** About how many bytes of raw output are read at once, unless given. */
private const val DEFAULT_MAX_BYTES: UInt = 65_536u

/**
 * The changes of the transcript, batch by batch, until the session ends.
 *
 * The flow is cold; each collector reads on its own. A collector that was cancelled can continue without
 * loss from the cursor of the last batch that it has applied. A cursor of another session begins anew, with
 * a reset.
 *
 * @param from the cursor to read from; 0 for the whole transcript.
 * @param maxCount the maximum number of changes in a batch. A reset is never split.
 * @param coalesceFor how long to wait for further changes after the first one.
 */
public fun DialogueSession.changes(
    from: ULong = 0u,
    maxCount: UInt = DEFAULT_MAX_COUNT,
    coalesceFor: Duration = FRAME,
): Flow<ChangeBatch> = changes({ changeStream() }, from, maxCount, coalesceFor)

/** The changes of the recording's transcript, batch by batch; see [DialogueSession.changes]. */
public fun Recording.changes(from: ULong = 0u, maxCount: UInt = DEFAULT_MAX_COUNT): Flow<ChangeBatch> =
    changes({ changeStream() }, from, maxCount, Duration.ZERO)

/**
 * The transcript after each batch of changes, until the session ends.
 *
 * Each emission is a transcript of its own, which never changes. It shares what has not changed with the
 * one before.
 *
 * @param coalesceFor how long to wait for further changes after the first one of a batch.
 */
public fun DialogueSession.transcripts(coalesceFor: Duration = FRAME): Flow<Transcript> =
    fold(changes(coalesceFor = coalesceFor))

/** The transcript after each batch of changes, to the end of the recording; see [DialogueSession.transcripts]. */
public fun Recording.transcripts(): Flow<Transcript> = fold(changes())

/**
 * The events of the session from the start of the collection on, until the session ends.
 *
 * @param limits how many unread events are kept.
 * @param coalesceFor how long to wait for further events after the first one.
 */
public fun DialogueSession.events(
    limits: EventLimits? = null,
    coalesceFor: Duration = Duration.ZERO,
): Flow<DialogueEventItem> = events({ eventStream(limits) }) { cursor ->
    next(cursor, DEFAULT_MAX_COUNT, coalesceFor.millis)?.let { it.cursor to it.events }
}

/**
 * The events of the shell, until its program ends.
 *
 * @param fromStart whether to begin with the oldest line that is kept, instead of now.
 * @param coalesceFor how long to wait for further events after the first one.
 */
public fun ShellSession.events(
    fromStart: Boolean = true,
    coalesceFor: Duration = Duration.ZERO,
): Flow<SessionEvent> = events({ eventStream(fromStart) }) { cursor ->
    next(cursor, DEFAULT_MAX_COUNT, coalesceFor.millis)?.let { it.cursor to it.events }
}

/**
 * The states of the connection to the agent's machine, from the current one until the session ends. No outage is left out;
 * attempts that were not collected in time are one, the newest.
 */
public fun DialogueSession.connectionStates(): Flow<ConnectionView> = connectionStates { connectionStream() }

/** The states of the connection to the shell's machine; see [DialogueSession.connectionStates]. */
public fun ShellSession.connectionStates(): Flow<ConnectionView> = connectionStates { connectionStream() }

private fun connectionStates(open: () -> ConnectionStream): Flow<ConnectionView> = events(open) { cursor ->
    next(cursor, DEFAULT_MAX_COUNT, 0u)?.let { it.cursor to it.events }
}

/**
 * The permission requests of all sessions of this process, local and at runners, and what else needs attention: first the requests that
 * are open, then what happens from now on. Answer with [Engine.respond]. The flow has no end.
 */
public fun Engine.inbox(): Flow<InboxEvent> = events({ inboxStream() }) { cursor ->
    next(cursor, DEFAULT_MAX_COUNT, 0u)?.let { it.cursor to it.events }
}

/**
 * The bytes of the agent's output from an offset on, until the session ends. Bytes that are no longer kept, or that were not
 * collected in time, are a [RawPiece.Gap]; a collector never holds the agent back.
 *
 * @param from the offset to read from: 0 for the beginning, `rawEnd()` for what comes.
 * @param kind the stream; the output if it is absent.
 * @param maxBytes about how many bytes are read at once.
 */
public fun DialogueSession.rawOutput(
    from: ULong = 0u,
    kind: OutputKind? = null,
    maxBytes: UInt = DEFAULT_MAX_BYTES,
): Flow<RawPiece> = rawOutput({ rawStream(kind) }, from, maxBytes)

/** The bytes of the shell's terminal; see [DialogueSession.rawOutput]. `outputBytes()` is the offset of what comes. */
public fun ShellSession.rawOutput(from: ULong = 0u, maxBytes: UInt = DEFAULT_MAX_BYTES): Flow<RawPiece> =
    rawOutput({ rawStream() }, from, maxBytes)

/** The bytes of all commands of the executor, one after another, until its cleanup; see [DialogueSession.rawOutput]. */
public fun TerminalExecutor.rawOutput(from: ULong = 0u, maxBytes: UInt = DEFAULT_MAX_BYTES): Flow<RawPiece> =
    rawOutput({ rawStream() }, from, maxBytes)

private fun rawOutput(open: () -> RawStream, from: ULong, maxBytes: UInt): Flow<RawPiece> = flow {
    open().use { stream ->
        var offset = from
        while (true) {
            val batch = stream.next(offset, maxBytes, 0u) ?: break
            batch.pieces.forEach { emit(it) }
            offset = batch.offset
        }
    }
}

/** The events of all sessions of the manager from the start of the collection on. */
public fun SessionManager.events(coalesceFor: Duration = Duration.ZERO): Flow<SessionEvent> =
    events({ eventStream() }) { cursor ->
        next(cursor, DEFAULT_MAX_COUNT, coalesceFor.millis)?.let { it.cursor to it.events }
    }

/** The hook events from the start of the collection on, until the server stops. */
public fun HookServer.events(coalesceFor: Duration = Duration.ZERO): Flow<HookEventItem> =
    events({ eventStream() }) { cursor ->
        next(cursor, DEFAULT_MAX_COUNT, coalesceFor.millis)?.let { it.cursor to it.events }
    }

/**
 * The hooks that wait for a decision of the host. They can be collected once.
 *
 * Collecting throws [BowlineException.Busy] if they are being read.
 */
public fun HookServer.questions(): Flow<HookQuestion> = events({ questionStream() }) { cursor ->
    next(cursor, 1u, 0u)?.let { it.cursor to it.events }
}

/** The hook events of the executor from the start of the collection on. */
public fun TerminalExecutor.events(coalesceFor: Duration = Duration.ZERO): Flow<HookEventItem> =
    events({ hookStream() }) { cursor ->
        next(cursor, DEFAULT_MAX_COUNT, coalesceFor.millis)?.let { it.cursor to it.events }
    }

/** The hooks that wait for a decision of the host; see [HookServer.questions]. */
public fun TerminalExecutor.questions(): Flow<HookQuestion> = events({ questionStream() }) { cursor ->
    next(cursor, 1u, 0u)?.let { it.cursor to it.events }
}

private fun changes(
    open: () -> ChangeStream,
    from: ULong,
    maxCount: UInt,
    coalesceFor: Duration,
): Flow<ChangeBatch> = flow {
    open().use { stream ->
        var cursor = from
        while (true) {
            val batch = stream.next(cursor, maxCount, coalesceFor.millis) ?: break
            cursor = batch.cursor
            emit(batch)
        }
    }
}

internal fun fold(changes: Flow<ChangeBatch>): Flow<Transcript> = flow {
    val transcript = Transcript()
    changes.collect { batch ->
        transcript.apply(batch)
        emit(transcript.copy())
    }
}

private fun <S : AutoCloseable, E> events(
    open: () -> S,
    next: suspend S.(ULong) -> Pair<ULong, List<E>>?,
): Flow<E> = flow {
    open().use { stream ->
        var cursor: ULong = 0u
        while (true) {
            val (cursorAfter, events) = stream.next(cursor) ?: break
            events.forEach { emit(it) }
            cursor = cursorAfter
        }
    }
}

internal val Duration.millis: UInt get() = inWholeMilliseconds.coerceIn(0, Int.MAX_VALUE.toLong()).toUInt()
