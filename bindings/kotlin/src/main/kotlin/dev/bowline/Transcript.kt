package dev.bowline

import java.util.TreeMap

/**
 * A transcript that is kept up to date by batches of changes. It is not for several threads at once:
 * whoever applies batches reads it, or hands it over.
 */
public class Transcript {
    /** The session's conversation, model and mode. */
    public var session: SessionView? = null
        private set

    /** What the session is doing. */
    public var phase: Phase = Phase.STARTING
        private set

    /** Why the session is in its [phase], in a few words. */
    public var reason: String = ""
        private set

    /** What was used. */
    public var usage: UsageView? = null
        private set

    /** What was counted. */
    public var stats: StatsView? = null
        private set

    /** The cursor of the last batch: where to read on. */
    public var cursor: ULong = 0u
        private set

    private val threads = HashMap<String?, Thread>()
    private val places = HashMap<UInt, Entry>()
    private val owners = HashMap<UInt, Entry>()
    private val calls = HashMap<UInt, Call>()
    private val named = HashMap<String, Call>()
    private val taskViews = TreeMap<UInt, TaskView>()
    private val permissionViews = TreeMap<UInt, PermissionView>()

    /** The background tasks, in the order of announcement. */
    public val tasks: Collection<TaskView> get() = taskViews.values

    /** The permission requests, in the order of asking. */
    public val permissions: Collection<PermissionView> get() = permissionViews.values

    /** The entries of the main thread, in order. */
    public val entries: Collection<Entry> get() = entries(null)

    /** The entries of a sub-agent, by the `tool_use` id of the call that started it. */
    public fun entries(thread: String?): Collection<Entry> = threads[thread]?.entries?.values.orEmpty()

    /** The tool calls of the main thread or of a sub-agent, in the order of announcement. */
    public fun toolCalls(thread: String? = null): List<ToolCallView> =
        threads[thread]?.calls?.values.orEmpty().map { it.value }

    /** A tool call of any thread, by its `tool_use` id. */
    public fun toolCall(id: String): ToolCallView? = named[id]?.value

    /** One row of a transcript. */
    public class Entry internal constructor(
        /** Names the entry; entries stand in the order of their numbers. */
        public val number: UInt,
    ) {
        /** The tool call that holds its thread; none on the main thread. */
        public var thread: String? = null
            internal set

        /** When it began, in milliseconds since 1970; 0 in a recording. */
        public var atMs: ULong = 0u
            internal set

        internal lateinit var kind: EntryKind

        /** What it says, without blocks. */
        public val value: EntryKind get() = kind

        internal val blockMap = TreeMap<UInt, Block>()

        /** The parts of a message, in order. */
        public val blocks: Collection<Block> get() = blockMap.values
    }

    /** One part of a message. */
    public class Block internal constructor(
        /** Names the block; blocks stand in the order of their numbers. */
        public val number: UInt,
        /** What it was when it came. The text of one that grows is [text]. */
        public val value: BlockKind,
    ) {
        private val said = StringBuilder()

        /** Length of the text in bytes of UTF-8, which is what changes count in. */
        private var bytes = 0

        init {
            val text = (value as? BlockKind.Text)?.text ?: (value as? BlockKind.Thinking)?.text
            if (text != null) add(text)
        }

        /** What a text or thinking block says, as far as it has come; empty for other kinds. */
        public val text: String get() = said.toString()

        internal fun append(from: Int, text: String) {
            if (from < bytes) {
                said.setLength(indexOfByte(from))
                bytes = from
            }
            add(text)
        }

        private fun add(text: String) {
            said.append(text)
            var at = 0
            while (at < text.length) {
                val point = text.codePointAt(at)
                bytes += width(point)
                at += Character.charCount(point)
            }
        }

        private fun indexOfByte(byte: Int): Int {
            var (at, seen) = 0 to 0
            while (seen < byte && at < said.length) {
                val point = said.codePointAt(at)
                seen += width(point)
                at += Character.charCount(point)
            }
            return at
        }

        private fun width(point: Int): Int = when {
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

    /** Takes the next batch. */
    public fun apply(batch: ChangeBatch) {
        if (batch.isReset) forget()
        batch.changes.forEach(::apply)
        cursor = batch.cursor
    }

    private fun forget() {
        session = null
        phase = Phase.STARTING
        reason = ""
        usage = null
        stats = null
        listOf(threads, places, owners, calls, named, taskViews, permissionViews).forEach { it.clear() }
    }

    private fun apply(change: Change) {
        when (change) {
            is Change.Session -> session = change.value
            is Change.Status -> {
                phase = change.phase
                reason = change.reason
            }
            is Change.Entry -> put(change)
            is Change.EntryRemoved -> places.remove(change.entry)?.let { threads[it.thread]?.entries?.remove(it.number) }
            is Change.Block -> places[change.entry]?.let {
                it.blockMap[change.block] = Block(change.block, change.value)
                owners[change.block] = it
            }
            is Change.Append -> owners[change.block]?.blockMap?.get(change.block)?.append(change.from.toInt(), change.text)
            is Change.BlockRemoved -> owners.remove(change.block)?.blockMap?.remove(change.block)
            is Change.ToolCall -> put(change)
            is Change.ToolCallRemoved -> calls.remove(change.call)?.let {
                threads[it.thread]?.calls?.remove(it.number)
                named.remove(it.value.id, it)
            }
            is Change.BackgroundTask -> taskViews[change.number] = change.value
            is Change.Permission -> permissionViews[change.number] = change.value
            is Change.Usage -> usage = change.value
            is Change.Stats -> stats = change.value
        }
    }

    private fun put(change: Change.Entry) {
        val entry = places.getOrPut(change.entry) { Entry(change.entry) }
        if (entry.thread != change.thread) threads[entry.thread]?.entries?.remove(entry.number)
        entry.thread = change.thread
        entry.atMs = change.atMs
        entry.kind = change.value
        threads.getOrPut(change.thread, ::Thread).entries[entry.number] = entry
    }

    private fun put(change: Change.ToolCall) {
        val call = calls.getOrPut(change.call) { Call(change.call) }
        if (call.thread != change.thread) threads[call.thread]?.calls?.remove(call.number)
        call.thread = change.thread
        call.value = change.value
        named[change.value.id] = call
        threads.getOrPut(change.thread, ::Thread).calls[call.number] = call
    }

    /** The transcript as one line of JSON, schema 1, byte for byte as the library writes it. */
    public fun toJson(): String = TranscriptJson(this).write()
}
