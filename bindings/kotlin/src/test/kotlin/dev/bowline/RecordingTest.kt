// Tests: Recording, ChangeStream, TranscriptSnapshot
package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class RecordingTest {
    @Test
    fun `emitted transcripts do not change`() = runTest {
        engine.openRecording(fixtures.resolve("sub_par_fg_partial.jsonl").toString()).use { recording ->
            val emitted = fold(recording.changes(maxCount = 1u)).map { it to it.toJson() }.toList()
            assertTrue(emitted.size > 100, "${emitted.size} emissions")
            assertTrue(emitted.all { (transcript, json) -> transcript.toJson() == json })
            assertEquals(emitted.last().second, recording.snapshot().use { it.json() })
            val copy = emitted[emitted.size / 2].first.copy()
            recording.changes(from = copy.cursor).collect(copy::apply)
            assertEquals(emitted.last().second, copy.toJson())
            assertEquals(emitted[emitted.size / 2].second, emitted[emitted.size / 2].first.toJson())
        }
    }

    @Test
    fun `cursor of another transcript begins anew`() = runTest {
        val store = Transcript()
        for (name in listOf("plain.jsonl", "partial.jsonl", "plain.jsonl")) {
            engine.openRecording(fixtures.resolve(name).toString()).use { recording ->
                recording.changes(from = store.cursor).collect(store::apply)
                assertEquals(recording.snapshot().use { it.json() }, store.toJson(), name)
                assertEquals(recording.snapshot().use { it.cursor() }, store.cursor)
            }
        }
        session { one ->
            session { other ->
                one.changes(from = store.cursor).first().let { assertTrue(it.isReset) }
                val events = one.eventStream()
                one.send("hello").waitUntilSettled()
                val cursor = events.use { it.next(0u, 10u, 0u)!!.cursor }
                other.eventStream().use { assertThrowsBowline<BowlineException.Invalid> { it.next(cursor, 10u, 0u) } }
            }
        }
    }

    /** The SHA-256 of the transcript of each fixture, written by `.ci/sums`; of schema 1 with `#1`. */
    private val sums: Map<String, String> by lazy {
        val lines = Files.readAllLines(programs.resolve("fixtures.sha256"))
        lines.associate { it.substringAfter("  ") to it.substringBefore("  ") }
    }

    private suspend fun <T> recording(file: Path, body: suspend (Recording) -> T): T =
        engine.openRecording(file.toString()).use { body(it) }

    private suspend fun everyFixture(fold: suspend (Recording) -> Transcript) {
        val names = sums.keys.filterNot { it.endsWith("#1") }
        assertTrue(names.size > 170)
        for (name in names) {
            val transcript = recording(fixtures.resolve(name)) { fold(it) }
            assertEquals(sums.getValue(name), sha256(transcript.toJson()), name)
            assertEquals(sums.getValue("$name#1"), sha256(transcript.toJson(TranscriptSchema.ONE)), name)
        }
    }

    private suspend fun read(recording: Recording, maxCount: UInt): Transcript =
        Transcript().also { transcript -> recording.changes(maxCount = maxCount).collect(transcript::apply) }

    @Test
    fun `command has permission, output and exit code`() = runTest {
        val transcript = recording(fixtures.resolve("agents/codex/app-server.approve.trace.jsonl")) { read(it, 64u) }
        val session = transcript.session!!
        assertEquals("codex", session.dialect)
        assertEquals("codex", session.agentName)
        assertEquals(ContextView(110u, 258_400u), session.context)
        val call = transcript.toolCalls().single()
        assertEquals(ToolKind.EXECUTE, call.kind)
        assertEquals("approved-out\n", call.output)
        assertEquals(0L, call.exitCode)
        assertTrue(call.startedMs!! < call.endedMs!!)
        assertTrue("echo approved-out" in (call.content.single() as CallContent.Terminal).command)
        val permission = transcript.permissions.single()
        val kinds = listOf(AnswerKind.ALLOW_ONCE, AnswerKind.ALLOW_ALWAYS, AnswerKind.REJECT_ONCE, AnswerKind.REJECT_ONCE)
        assertEquals(kinds, permission.options.map { it.kind })
        assertEquals("""["echo", "approved-out"]""", permission.rule)
        assertEquals("accept", permission.decidedBy?.how)
        val prompt = transcript.entries.first { it.value is EntryKind.User }.detail
        assertEquals("1", prompt.turn)
        assertNotNull(prompt.atMs)
        assertFalse(prompt.isHistory)
    }

    @Test
    fun `edit has diff, question has choices, plan has steps`() = runTest {
        val edit = recording(fixtures.resolve("agents/codex/app-server.edit.trace.jsonl")) { read(it, 64u) }.toolCalls().single()
        assertEquals(ToolKind.EDIT, edit.kind)
        assertEquals("/home/dev/project/hello.txt", edit.locations.single().path)
        assertNotNull((edit.content.single() as CallContent.Diff).new)
        val asking = fixtures.resolve("agents/claude-agent-acp/acp.ask.trace.jsonl")
        engine.openRecording(asking.toString(), dialect = "acp").use { recording ->
            val transcript = read(recording, 64u)
            assertEquals(5 to 40, transcript.session!!.options.size to transcript.session!!.commands.size)
            val (choice, text) = transcript.permissions.single().questions
            assertEquals(QuestionKind.SINGLE to 2, choice.kind to choice.options.size)
            assertTrue(text.kind == QuestionKind.TEXT && text.freeText)
        }
        val plan = recording(fixtures.resolve("agents/claude-agent-acp/acp.todo.trace.jsonl")) { read(it, 64u) }.session!!.plan
        assertTrue(plan.any { it.state == PlanState.IN_PROGRESS }, "$plan")
        assertThrowsBowline<BowlineException.Invalid> { engine.openRecording(asking.toString(), dialect = "aider") }
    }

    @Test
    fun `fixtures match Rust, one change at a time`() =
        runTest { everyFixture { read(it, 1u) } }

    @Test
    fun `fixtures match Rust, in batches of 64`() =
        runTest { everyFixture { read(it, 64u) } }

    @Test
    fun `fixtures match Rust, in batches of 10,000`() =
        runTest { everyFixture { read(it, 10_000u) } }

    @Test
    fun `cancelled reader continues from its cursor`() = runTest {
        everyFixture { recording ->
            val transcript = Transcript()
            recording.changes(maxCount = 7u).take(5).collect(transcript::apply)
            // A batch that was read but not applied is read again.
            recording.changes(from = transcript.cursor, maxCount = 3u).take(1).collect { }
            recording.changes(from = transcript.cursor, maxCount = 64u).collect(transcript::apply)
            transcript
        }
    }

    @Test
    fun `cut journal is damaged`() = runTest {
        val folder = temporaryDirectory()
        val journal = folder.resolve("session.bjl")
        session(configuration().copy(record = journal.toString())) { it.send("hello").use { receipt -> receipt.waitUntilSettled() } }
        val whole = recording(journal) { read(it, 10_000u) }
        assertFalse(whole.stats!!.isDamaged)
        val bytes = Files.readAllBytes(journal)
        for (length in listOf(8, bytes.size / 2, bytes.size - 1)) {
            val cut = Files.write(folder.resolve("$length.bjl"), bytes.copyOf(length))
            recording(cut) { recording ->
                val transcript = read(recording, 10_000u)
                assertTrue(transcript.stats!!.isDamaged)
                val errors = transcript.entries.mapNotNull { it.value as? EntryKind.Error }
                assertTrue(errors.any { "journal" in it.text }, "$errors")
                assertEquals(recording.snapshot().use { it.json() }, transcript.toJson())
            }
        }
    }

    @Test
    fun `reading by cursor does not consume`() = runTest {
        recording(fixtures.resolve("partial.jsonl")) { recording ->
            recording.changeStream().use { stream ->
                val first = stream.next(0u, 5u, 0u)!!
                assertTrue(first.isReset)
                assertEquals(first, stream.nextBlocking(0u, 5u, 0u, 10_000u))
                val second = stream.next(first.cursor, 5u, 0u)!!
                assertFalse(second.isReset)
                assertTrue(second.cursor > first.cursor)
                assertThrowsBowline<BowlineException.Invalid> { stream.next(0u, 0u, 0u) }
                stream.stop()
                assertNull(stream.next(0u, 5u, 0u))
                stream.stop()
            }
        }
    }

    @Test
    fun `snapshot is paged from its end`() = runTest {
        recording(fixtures.resolve("sub_par_fg_partial.jsonl")) { recording ->
            recording.snapshot().use { snapshot ->
                val transcript = read(recording, 10_000u)
                assertEquals(transcript.toJson(), snapshot.json())
                assertEquals(transcript.cursor, snapshot.cursor())
                assertEquals(transcript.entries.size.toULong(), snapshot.entryCount(null))
                val seen = ArrayDeque<UInt>()
                var before: UInt? = null
                do {
                    val page = snapshot.page(before = before, maxCount = 2u)
                    val entries = page.changes.filterIsInstance<Change.Entry>().map { it.entry }
                    seen.addAll(0, entries)
                    before = page.firstEntry
                } while (page.hasOlder)
                assertEquals(transcript.entries.map { it.number }, seen.toList())
                val call = transcript.toolCalls().first { it.subagent != null }
                assertEquals(transcript.entries(call.id).size.toULong(), snapshot.entryCount(call.id))
                assertTrue(snapshot.page(thread = call.id).changes.isNotEmpty())
                assertEquals(call, (snapshot.toolCall(call.id) as Change.ToolCall).value)
                assertThrowsBowline<BowlineException.NotFound> { snapshot.toolCall("none") }
                assertThrowsBowline<BowlineException.NotFound> { snapshot.entryCount("none") }
            }
        }
    }

    @Test
    fun `transcripts are emitted until the end`() = runTest {
        recording(fixtures.resolve("partial.jsonl")) { recording ->
            val last = recording.transcripts().last()
            assertEquals(Phase.ENDED, last.phase)
            assertNotNull(last.usage)
        }
        assertThrowsBowline<BowlineException.NotFound> { engine.openRecording("/no/such/file.jsonl") }
        assertThrowsBowline<BowlineException.Io> { engine.openRecording(fixtures.toString()) }
    }
}
