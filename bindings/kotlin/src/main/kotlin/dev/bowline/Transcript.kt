package dev.bowline

import java.util.TreeMap

/**
 * A transcript, updated by batches of changes.
 *
 * Apply the batches of [changes] in order, or read whole transcripts from [transcripts]. Instances are
 * not thread-safe.
 */
public class Transcript {
    /** The conversation, model and permission mode. */
    public var session: SessionView? = null
        private set

    /** The phase of the session. */
    public var phase: Phase = Phase.STARTING
        private set

    /** A short description of the evidence for the [phase]. */
    public var reason: String = ""
        private set

    /** The token usage and cost. */
    public var usage: UsageView? = null
        private set

    /** The counts of lines and events. */
    public var stats: StatsView? = null
        private set

    /** The cursor of the last batch, from which to read on. */
    public var cursor: ULong = 0u
        private set

    private val threads = HashMap<String?, Thread>()
    private val entriesByNumber = HashMap<UInt, Entry>()
    private val entryOfBlock = HashMap<UInt, Entry>()
    private val callsByNumber = HashMap<UInt, Call>()
    private val callsById = HashMap<String, Call>()
    private val taskViews = TreeMap<UInt, TaskView>()
    private val permissionViews = TreeMap<UInt, PermissionView>()

    /** The background tasks, oldest first. */
    public val tasks: Collection<TaskView> get() = taskViews.values

    /** The permission requests, oldest first. */
    public val permissions: Collection<PermissionView> get() = permissionViews.values

    /** The entries of the main thread, in order. */
    public val entries: Collection<Entry> get() = entries(null)

    /** Returns the entries of the sub-agent that the tool call [thread] started, or of the main thread if null. */
    public fun entries(thread: String?): Collection<Entry> = threads[thread]?.entries?.values.orEmpty()

    /** Returns the tool calls of the sub-agent that the tool call [thread] started, or of the main thread if null. */
    public fun toolCalls(thread: String? = null): List<ToolCallView> =
        threads[thread]?.calls?.values.orEmpty().map { it.value }

    /** Returns the tool call of any thread with the `tool_use` id [id]. */
    public fun toolCall(id: String): ToolCallView? = callsById[id]?.value

    /** An entry of a transcript. */
    public class Entry internal constructor(
        /** The number of the entry. Entries are ordered by number. */
        public val number: UInt,
    ) {
        /** The id of the tool call whose sub-agent wrote the entry; null on the main thread. */
        public var thread: String? = null
            internal set

        /** When the entry began, in milliseconds since 1970; 0 in a recording. */
        public var atMs: ULong = 0u
            internal set

        internal lateinit var kind: EntryKind

        /** The content of the entry without blocks. */
        public val value: EntryKind get() = kind

        internal val blockMap = TreeMap<UInt, Block>()

        /** The blocks of a message, in order. */
        public val blocks: Collection<Block> get() = blockMap.values
    }

    /** A block of a message. */
    public class Block internal constructor(
        /** The number of the block. Blocks are ordered by number. */
        public val number: UInt,
        /** The content of the block when it was added. For a block that grows, [text] has the current text. */
        public val value: BlockKind,
    ) {
        private val content = StringBuilder()

        /** The length of the text in UTF-8 bytes, the unit of [Change.Append.from]. */
        private var utf8Length = 0

        init {
            val text = (value as? BlockKind.Text)?.text ?: (value as? BlockKind.Thinking)?.text
            if (text != null) add(text)
        }

        /** The current text of a text or thinking block; empty for other blocks. */
        public val text: String get() = content.toString()

        internal fun append(from: Int, text: String) {
            if (from < utf8Length) {
                content.setLength(indexOfByte(from))
                utf8Length = from
            }
            add(text)
        }

        private fun add(text: String) {
            content.append(text)
            var at = 0
            while (at < text.length) {
                val point = text.codePointAt(at)
                utf8Length += utf8Width(point)
                at += Character.charCount(point)
            }
        }

        private fun indexOfByte(byte: Int): Int {
            var (at, length) = 0 to 0
            while (length < byte && at < content.length) {
                val point = content.codePointAt(at)
                length += utf8Width(point)
                at += Character.charCount(point)
            }
            return at
        }

        private fun utf8Width(point: Int): Int = when {
            point < 0x80 -> 1
            point < 0x800 -> 2
            point < 0x10000 -> 3
            else -> 4
        }
    }

    internal class Thread {
        val entries = TreeMap<UInt, Entry>()
        val calls = TreeMap<UInt, Call>()
    }

    internal class Call(val number: UInt) {
        var thread: String? = null
        lateinit var value: ToolCallView
    }

    /** Applies a batch of changes. Batches must be applied in order. */
    public fun apply(batch: ChangeBatch) {
        if (batch.isReset) clear()
        batch.changes.forEach(::apply)
        cursor = batch.cursor
    }

    private fun clear() {
        session = null
        phase = Phase.STARTING
        reason = ""
        usage = null
        stats = null
        listOf(threads, entriesByNumber, entryOfBlock, callsByNumber, callsById, taskViews, permissionViews).forEach { it.clear() }
    }

    private fun apply(change: Change) {
        when (change) {
            is Change.Session -> session = change.value
            is Change.Status -> {
                phase = change.phase
                reason = change.reason
            }
            is Change.Entry -> put(change)
            is Change.EntryRemoved ->
                entriesByNumber.remove(change.entry)?.let { threads[it.thread]?.entries?.remove(it.number) }
            is Change.Block -> entriesByNumber[change.entry]?.let {
                it.blockMap[change.block] = Block(change.block, change.value)
                entryOfBlock[change.block] = it
            }
            is Change.Append ->
                entryOfBlock[change.block]?.blockMap?.get(change.block)?.append(change.from.toInt(), change.text)
            is Change.BlockRemoved -> entryOfBlock.remove(change.block)?.blockMap?.remove(change.block)
            is Change.ToolCall -> put(change)
            is Change.ToolCallRemoved -> callsByNumber.remove(change.call)?.let {
                threads[it.thread]?.calls?.remove(it.number)
                callsById.remove(it.value.id, it)
            }
            is Change.BackgroundTask -> taskViews[change.number] = change.value
            is Change.Permission -> permissionViews[change.number] = change.value
            is Change.Usage -> usage = change.value
            is Change.Stats -> stats = change.value
        }
    }

    private fun put(change: Change.Entry) {
        val entry = entriesByNumber.getOrPut(change.entry) { Entry(change.entry) }
        if (entry.thread != change.thread) threads[entry.thread]?.entries?.remove(entry.number)
        entry.thread = change.thread
        entry.atMs = change.atMs
        entry.kind = change.value
        threads.getOrPut(change.thread, ::Thread).entries[entry.number] = entry
    }

    private fun put(change: Change.ToolCall) {
        val call = callsByNumber.getOrPut(change.call) { Call(change.call) }
        if (call.thread != change.thread) threads[call.thread]?.calls?.remove(call.number)
        call.thread = change.thread
        call.value = change.value
        callsById[change.value.id] = call
        threads.getOrPut(change.thread, ::Thread).calls[call.number] = call
    }

    /** Returns the transcript as one line of JSON, schema 1, equal to [TranscriptSnapshot.json] byte by byte. */
    public fun toJson(): String = TranscriptJson(this).write()
}
