package dev.bowline

import java.util.Collections
import java.util.TreeMap

/**
 * A transcript, updated by batches of changes.
 *
 * Apply the batches of [changes] in order, or read whole transcripts from [transcripts]. Only [apply]
 * changes an instance: one that is not applied to may be read by any number of threads. Entries and blocks
 * never change; an update replaces them.
 */
public class Transcript {
    /** The conversation, agent, plan and settings. */
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
    private val taskViews = TreeMap<UInt, TaskView>()
    private val permissionViews = TreeMap<UInt, PermissionView>()

    /** Where items are. Built when the first batch is applied. */
    private var index: Index? = null

    /** The background tasks, oldest first. */
    public val tasks: Collection<TaskView> get() = taskViews.values

    /** The permission requests, oldest first. */
    public val permissions: Collection<PermissionView> get() = permissionViews.values

    /** The entries of the main thread, in order. */
    public val entries: Collection<Entry> get() = entries(null)

    /**
     * Returns the entries of the sub-agent that the tool call [thread] started, or whose thread has this name, or of
     * the main thread if null.
     */
    public fun entries(thread: String?): Collection<Entry> = threads[thread]?.entries?.values.orEmpty()

    /** Returns the tool calls of a thread, which is named as for [entries]. */
    public fun toolCalls(thread: String? = null): List<ToolCallView> =
        threads[thread]?.calls?.values.orEmpty().map { it.value }

    /** Returns the tool call of any thread with the `tool_use` id [id]. */
    public fun toolCall(id: String): ToolCallView? =
        threads.values.firstNotNullOfOrNull { thread -> thread.calls.values.firstOrNull { it.value.id == id } }?.value

    /** Returns a copy that later batches do not change. It shares the texts, so that it is cheap. */
    public fun copy(): Transcript {
        val copy = Transcript()
        copy.session = session
        copy.phase = phase
        copy.reason = reason
        copy.usage = usage
        copy.stats = stats
        copy.cursor = cursor
        threads.values.forEach { it.isShared = true }
        copy.threads.putAll(threads)
        copy.taskViews.putAll(taskViews)
        copy.permissionViews.putAll(permissionViews)
        return copy
    }

    /** An entry of a transcript. */
    public class Entry internal constructor(
        /** The number of the entry. Entries are ordered by number. */
        public val number: UInt,
        /** The tool call whose sub-agent wrote the entry, or the name of a thread without a call; null on the main thread. */
        public val thread: String?,
        /** The turn, time and place of the entry. */
        public val detail: EntryDetail,
        /** The content of the entry without blocks. */
        public val value: EntryKind,
        /** The blocks of a message, in order. */
        public val blocks: List<Block>,
    ) {
        internal fun withBlocks(change: NumberedList<Block>.() -> Unit): Entry {
            val changed = NumberedList(Block::number, blocks).apply(change)
            return Entry(number, thread, detail, value, changed.values)
        }
    }

    /** A block of a message. */
    public class Block private constructor(
        /** The number of the block. Blocks are ordered by number. */
        public val number: UInt,
        /** The lines of the block in the agent's output. */
        public val bytes: ByteRange,
        /** The content of the block when it was added. For a block that grows, [text] has the current text. */
        public val value: BlockKind,
        /** The current text of a text or thinking block; empty for other blocks. */
        public val text: String,
        /** The length of the text in UTF-8 bytes, the unit of [Change.Append.from]. */
        private val utf8Length: Int,
    ) {
        internal companion object {
            fun of(change: Change.Block): Block {
                val value = change.value
                val text = (value as? BlockKind.Text)?.text ?: (value as? BlockKind.Thinking)?.text ?: ""
                return Block(change.block, change.bytes, value, text, utf8Length(text))
            }

            private fun utf8Length(text: String): Int {
                var length = 0
                forEachPoint(text) { point, _ ->
                    length += utf8Width(point)
                    true
                }
                return length
            }

            /** Returns the index of the character at [byte] of the text in UTF-8. */
            private fun indexOfByte(text: String, byte: Int): Int {
                var length = 0
                var index = text.length
                forEachPoint(text) { point, at ->
                    if (length >= byte) index = at
                    length += utf8Width(point)
                    index == text.length
                }
                return index
            }

            /** Calls [body] with each code point and its index while it returns true. */
            private inline fun forEachPoint(text: String, body: (point: Int, at: Int) -> Boolean) {
                var at = 0
                while (at < text.length) {
                    val point = text.codePointAt(at)
                    if (!body(point, at)) return
                    at += Character.charCount(point)
                }
            }

            private fun utf8Width(point: Int): Int = when {
                point < 0x80 -> 1
                point < 0x800 -> 2
                point < 0x10000 -> 3
                else -> 4
            }
        }

        /** The block with the text of [change] after the first bytes of its own. */
        internal fun append(change: Change.Append): Block {
            val from = change.from.toInt()
            val kept = if (from < utf8Length) text.substring(0, indexOfByte(text, from)) else text
            val length = minOf(from, utf8Length) + utf8Length(change.text)
            return Block(number, bytes.copy(end = change.end), value, kept + change.text, length)
        }
    }

    /** A tool call and where it belongs. */
    internal class Call(val number: UInt, val thread: String?, val value: ToolCallView)

    /** The entries and tool calls of an agent. */
    internal class Thread(
        val entries: NumberedList<Entry> = NumberedList(Entry::number),
        val calls: NumberedList<Call> = NumberedList(Call::number),
    ) {
        /** Whether several transcripts have it. It does not change from then on. */
        var isShared = false

        fun copy() = Thread(entries.copy(), calls.copy())
    }

    /** The threads and entries of items, by number. */
    private class Index {
        val threadOfEntry = HashMap<UInt, String?>()
        val entryOfBlock = HashMap<UInt, UInt>()
        val threadOfCall = HashMap<UInt, String?>()
    }

    /** Applies a batch of changes. Batches must be applied in order, by one thread at a time. */
    public fun apply(batch: ChangeBatch) {
        if (batch.isReset) clear()
        val index = index ?: index().also { index = it }
        batch.changes.forEach { apply(it, index) }
        cursor = batch.cursor
    }

    private fun index(): Index {
        val index = Index()
        for ((id, thread) in threads) {
            for (entry in thread.entries.values) {
                index.threadOfEntry[entry.number] = id
                entry.blocks.forEach { index.entryOfBlock[it.number] = entry.number }
            }
            thread.calls.values.forEach { index.threadOfCall[it.number] = id }
        }
        return index
    }

    private fun clear() {
        session = null
        phase = Phase.STARTING
        reason = ""
        usage = null
        stats = null
        index = null
        listOf(threads, taskViews, permissionViews).forEach { it.clear() }
    }

    private fun apply(change: Change, index: Index) {
        when (change) {
            is Change.Session -> session = change.value
            is Change.Status -> {
                phase = change.phase
                reason = change.reason
            }
            is Change.Entry -> put(change, index)
            is Change.EntryRemoved ->
                if (change.entry in index.threadOfEntry) thread(index.threadOfEntry.remove(change.entry)).entries.remove(change.entry)
            is Change.Block -> changeEntry(change.entry, index) {
                index.entryOfBlock[change.block] = change.entry
                put(Block.of(change))
            }
            is Change.Append -> changeEntry(index.entryOfBlock[change.block], index) {
                get(change.block)?.let { put(it.append(change)) }
            }
            is Change.BlockRemoved -> changeEntry(index.entryOfBlock.remove(change.block), index) { remove(change.block) }
            is Change.ToolCall -> put(change, index)
            is Change.ToolCallRemoved ->
                if (change.call in index.threadOfCall) thread(index.threadOfCall.remove(change.call)).calls.remove(change.call)
            is Change.BackgroundTask -> taskViews[change.number] = change.value
            is Change.Permission -> permissionViews[change.number] = change.value
            is Change.Usage -> usage = change.value
            is Change.Stats -> stats = change.value
        }
    }

    /** Returns a thread that only this transcript has. */
    private fun thread(id: String?): Thread {
        val thread = threads[id]
        if (thread != null && !thread.isShared) return thread
        return (thread?.copy() ?: Thread()).also { threads[id] = it }
    }

    private fun changeEntry(number: UInt?, index: Index, change: NumberedList<Block>.() -> Unit) {
        if (number == null || number !in index.threadOfEntry) return
        val entries = thread(index.threadOfEntry[number]).entries
        entries[number]?.let { entries.put(it.withBlocks(change)) }
    }

    private fun put(change: Change.Entry, index: Index) {
        val isKnown = change.entry in index.threadOfEntry
        val earlier = index.threadOfEntry.put(change.entry, change.thread)
        val entry = if (isKnown) threads[earlier]?.entries?.get(change.entry) else null
        if (isKnown && earlier != change.thread) thread(earlier).entries.remove(change.entry)
        val blocks = entry?.blocks.orEmpty()
        thread(change.thread).entries.put(Entry(change.entry, change.thread, change.detail, change.value, blocks))
    }

    private fun put(change: Change.ToolCall, index: Index) {
        val isKnown = change.call in index.threadOfCall
        val earlier = index.threadOfCall.put(change.call, change.thread)
        if (isKnown && earlier != change.thread) thread(earlier).calls.remove(change.call)
        thread(change.thread).calls.put(Call(change.call, change.thread, change.value))
    }

    /** The tool calls of all threads, in the order in which they began. */
    internal fun allCalls(): List<ToolCallView> =
        threads.values.flatMap { it.calls.values }.sortedBy { it.number }.map { it.value }

    /** Returns the transcript as one line of JSON, equal to [TranscriptSnapshot.json] byte by byte. */
    @JvmOverloads
    public fun toJson(schema: TranscriptSchema = TranscriptSchema.TWO): String = TranscriptJson(this, schema).write()
}

/** Values in the order of their numbers. */
internal class NumberedList<T : Any>(private val number: (T) -> UInt, items: Collection<T> = emptyList()) {
    private val items = ArrayList(items)

    val values: List<T> = Collections.unmodifiableList(this.items)

    operator fun get(number: UInt): T? = items.getOrNull(find(number))

    /** Adds a value, or replaces the one with its number. */
    fun put(value: T) {
        val at = find(number(value))
        if (at >= 0) items[at] = value else items.add(-at - 1, value)
    }

    fun remove(number: UInt) {
        val at = find(number)
        if (at >= 0) items.removeAt(at)
    }

    fun copy() = NumberedList(number, items)

    /** The index of the value with the number, or -(index at which to add it) - 1. */
    private fun find(wanted: UInt): Int {
        // Most changes are to the last value.
        val last = items.lastOrNull() ?: return -1
        if (number(last) < wanted) return -items.size - 1
        return items.binarySearch { number(it).compareTo(wanted) }
    }
}
