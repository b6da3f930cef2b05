// Tests: DialogueSession, DialogueEventStream, Receipt, Engine, TokenProvider
package dev.bowline

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class DialogueSessionTest {
    @Test
    fun `entries dropped from the window are read from the recording`() = runTest {
        val folder = temporaryDirectory()
        val windowed = configuration(folder = folder)
            .copy(window = TranscriptWindow(entries = 8u), record = folder.resolve("session.bjl").toString())
        session(windowed) { session ->
            repeat(20) { session.send("prompt $it").use { receipt -> receipt.waitUntilSettled() } }
            val kept = session.until { it.phase == Phase.IDLE && "prompt 19" in it.prompts() }.prompts()
            val found = ArrayList<String>()
            var before: UInt? = null
            do {
                val page = session.entriesBefore(before) ?: break
                before = page.firstEntry
                found.addAll(0, page.changes.mapNotNull { ((it as? Change.Entry)?.value as? EntryKind.User)?.text })
            } while (page.hasOlder)
            assertTrue("prompt 0" in found)
            assertEquals(List(20) { "prompt $it" }, (found + kept).distinct())
        }
        session(configuration().copy(window = TranscriptWindow(entries = 8u))) { session ->
            repeat(20) { session.send("prompt $it").use { receipt -> receipt.waitUntilSettled() } }
            assertThrowsBowline<BowlineException.Invalid> { session.entriesBefore() }
        }
    }

    private fun Transcript.prompts() = entries.mapNotNull { (it.value as? EntryKind.User)?.text }

    @Test
    fun `prompt is answered and snapshot matches transcript`() = runTest {
        session { session ->
            assertNotNull(session.pid())
            assertEquals(36, session.id().length)
            assertFalse(session.hasEnded())
            assertEquals(ConnectionView.Connected, session.connection())
            val receipt = session.send("hello", uuid = "0f0e0d0c-0b0a-4908-8706-050403020100")
            assertEquals("0f0e0d0c-0b0a-4908-8706-050403020100", receipt.uuid())
            assertEquals(ReceiptState.ANSWERED, receipt.waitUntilSettled())
            assertEquals(ReceiptState.ANSWERED, receipt.state())
            val transcript = session.until { it.results().isNotEmpty() }
            assertTrue(transcript.text().isNotBlank())
            assertEquals(TurnOutcome.COMPLETED, transcript.results().single().outcome)
            assertEquals(Phase.IDLE, session.phase())
            assertTrue(session.lastActivity().ageMs < 60_000u)
            // The agent may write another line in between, which changes only the statistics.
            val withoutStats = { json: String -> json.substringBefore(",\"stats\":") }
            assertEquals(withoutStats(session.snapshot().use { it.json() }), withoutStats(transcript.toJson()))
            val end = session.end()
            assertTrue(end.isExpected, end.reason)
            assertTrue(session.hasEnded())
            assertEquals(end, session.waitForEnd())
        }
    }

    @Test
    fun `tool runs if allowed and not if denied`() = runTest {
        session { session ->
            val first = session.send("/ask make test")
            val request = session.awaitPermissionRequest()
            assertEquals("Bash", request.toolName)
            assertTrue("make test" in request.input)
            session.allow(request.requestId)
            session.allow(request.requestId)
            first.waitUntilSettled()
            val second = session.send("/ask rm -rf build")
            val other = session.awaitPermissionRequest()
            session.respond(other.requestId, PermissionAnswer.Deny("not now", false), answeredBy = "a test")
            second.waitUntilSettled()
            val transcript = session.until { it.results().size == 2 }
            val states = transcript.toolCalls().map { it.state }
            assertEquals(listOf(CallState.SUCCEEDED, CallState.FAILED), states)
            assertEquals(listOf(PermissionState.ALLOWED, PermissionState.DENIED), transcript.permissions.map { it.state })
            val records = session.permissions().associateBy { it.requestId }
            assertEquals("a test", records.getValue(other.requestId).answeredBy)
            val late = assertThrowsBowline<BowlineException.TooLate> { session.allow(other.requestId) }
            assertTrue("a test" in late.reason, late.reason)
        }
    }

    @Test
    fun `questions and plans take their own answers`() = runTest {
        val toml = """
            [[turn]]
            steps = [
              { tool = { name = "AskUserQuestion", ask = true, result = "{{input.answers}}", input = { questions = [
                { question = "Which colour?", header = "Colour", multiSelect = false, options = [
                  { label = "red", description = "warm" }, { label = "blue", description = "cold" } ] } ] } } },
              { tool = { name = "ExitPlanMode", ask = true, result = "go", input = { plan = "1. Begin" } } },
            ]
        """.trimIndent()
        session(scenario(toml)) { session ->
            session.send("begin")
            val question = session.awaitPermissionRequest()
            val kind = question.kind as PermissionKind.Questions
            assertEquals(listOf("red", "blue"), kind.questions.single().options.map { it.label })
            assertThrowsBowline<BowlineException.Invalid> { session.respond(question.requestId, PermissionAnswer.ApprovePlan(null)) }
            session.respond(question.requestId, PermissionAnswer.Answers(listOf(QuestionAnswer("Which colour?", "blue"))))
            session.until { it.permissions.size == 2 && it.phase == Phase.AWAITING_PERMISSION }
            val plan = session.permissions().first { it.state == RequestState.OPEN }
            assertEquals(PermissionKind.Plan("1. Begin"), plan.kind)
            session.respond(plan.requestId, PermissionAnswer.ApprovePlan("acceptEdits"))
            val transcript = session.until { it.results().isNotEmpty() }
            assertTrue("blue" in transcript.toolCalls().first().result!!.text)
        }
    }

    @Test
    fun `interrupt ends the turn but not the session`() = runTest {
        session(configuration("--pace", "1")) { session ->
            session.send("/sleep 600")
            session.until { it.toolCalls().any { call -> call.state == CallState.RUNNING } }
            session.interrupt(InterruptScope.TurnAndQueued)
            val transcript = session.until { it.results().isNotEmpty() }
            assertEquals(TurnOutcome.CANCELLED, transcript.results().single().outcome)
            session.send("hello").waitUntilSettled()
            assertEquals(2, session.until { it.results().size == 2 }.results().size)
        }
    }

    @Test
    fun `model, mode and custom requests reach the agent`() = runTest {
        session { session ->
            session.send("hello").waitUntilSettled()
            session.setModel("claude-other")
            session.setPermissionMode("plan")
            session.until { it.session?.permissionMode == "plan" }
            val answer = session.request("set_max_thinking_tokens", """{"max_thinking_tokens":null}""")
            assertTrue(answer.startsWith("{"), answer)
            assertThrowsBowline<BowlineException.Invalid> { session.request("x", "[") }
            assertThrowsBowline<BowlineException.Refused> { session.request("no_such_request") }
        }
    }

    @Test
    fun `pause holds back prompts`() = runTest {
        session { session ->
            session.send("hello").waitUntilSettled()
            session.pause()
            val held = session.send("held")
            assertEquals(ReceiptState.ACCEPTED, held.state())
            session.unpause()
            assertEquals(ReceiptState.ANSWERED, held.waitUntilSettled())
        }
    }

    @Test
    fun `queue is edited until it is sent`() = runTest {
        session(configuration("--pace", "1")) { session ->
            session.send("/sleep 600")
            session.until { it.toolCalls().any { call -> call.state == CallState.RUNNING } }
            val queued = listOf("first", "second", "third").map { text ->
                session.send(Prompt(listOf(PromptPart.Text(text)), priority = Priority.LATER)).use { it.uuid() }
            }
            assertEquals(queued, session.queue().map { it.id })
            session.editQueue(queued[0], QueueChange.Replace(listOf(PromptPart.Text("changed"))))
            session.editQueue(queued[1], QueueChange.MoveBefore(queued[0]))
            session.editQueue(queued[1], QueueChange.MoveAfter(queued[0]))
            session.editQueue(queued[2], QueueChange.Cancel)
            val expected = listOf("changed", "second").map { it to QueuedState.WAITING }
            assertEquals(expected, session.queue().map { it.text to it.state })
            assertThrowsBowline<BowlineException.TooLate> { session.editQueue(queued[2], QueueChange.Cancel) }
            assertThrowsBowline<BowlineException.NotFound> { session.editQueue("none", QueueChange.Cancel) }
            session.interrupt(InterruptScope.Turn)
            session.until { it.results().size == 3 }
            assertTrue(session.queue().isEmpty())
        }
    }

    @Test
    fun `unexpected exit is recorded in the transcript`() = runTest {
        session { session ->
            session.send("/exit 3")
            val end = session.waitForEnd()
            assertFalse(end.isExpected)
            assertEquals(3, end.exit.code)
            val last = session.changes().toList().let { batches -> Transcript().also { t -> batches.forEach(t::apply) } }
            assertEquals(Phase.ENDED, last.phase)
            val errors = last.entries.mapNotNull { (it.value as? EntryKind.Error)?.kind }
            assertEquals(listOf(EntryErrorKind.UNEXPECTED_EXIT), errors)
            assertThrowsBowline<BowlineException.Ended> { session.send("hello?") }
        }
    }

    @Test
    fun `signal reaches the agent`() = runTest {
        session { session ->
            session.send("hello").waitUntilSettled()
            session.signal(SignalKind.KILL)
            assertEquals(9, session.waitForEnd().exit.signal)
            assertThrowsBowline<BowlineException.Ended> { session.signal(SignalKind.INTERRUPT) }
            assertThrowsBowline<BowlineException.Invalid> { session.retry() }
        }
    }

    @Test
    fun `startWithEvents misses no event`() = runTest {
        val started = engine.startWithEvents(configuration())
        started.session.use { session ->
            val turnEnd = async(start = CoroutineStart.UNDISPATCHED) { session.events().first { it.kind() is DialogueEventKind.TurnEnd } }
            session.send("hello")
            turnEnd.await()
            session.end()
            val kinds = mutableListOf<DialogueEventKind>()
            started.events.use { events ->
                var cursor: ULong = 0u
                while (true) {
                    val batch = events.next(cursor, 100u, 0u) ?: break
                    assertEquals(batch, events.next(cursor, 100u, 0u).let { it ?: batch }, "reading does not consume")
                    cursor = batch.cursor
                    kinds += batch.events.mapNotNull { it.kind() }
                }
            }
            assertTrue(kinds.any { it is DialogueEventKind.Delta })
            assertTrue(kinds.any { it is DialogueEventKind.Receipt && it.state == ReceiptState.ANSWERED })
            assertTrue((kinds.last() as DialogueEventKind.SessionEnd).isExpected)
        }
    }

    @Test
    fun `session streams are read by cursor and stopped`() = runTest {
        session { session ->
            session.eventStream().use { events ->
                session.send(Prompt(listOf(PromptPart.Text("hello")))).use { it.waitUntilSettled() }
                val first = events.next(0u, 1u, 0u)!!
                assertEquals(first, events.next(0u, 1u, 0u))
                events.stop()
                assertNull(events.next(first.cursor, 1u, 0u))
            }
            session.changeStream().use { changes ->
                val first = changes.next(0u, 1u, 0u)!!
                assertTrue(first.isReset)
                assertEquals(first.cursor, changes.nextBlocking(0u, 1u, 0u, 5_000u)?.cursor)
                val end = session.terminate()
                assertTrue(end.isExpected)
                assertThrowsBowline<BowlineException.Invalid> { session.detach() }
            }
        }
    }

    @Test
    fun `unreachable runner and invalid address are errors`() = runTest {
        val id = "11111111-2222-4333-8444-555555555555"
        val unreachable = RunnerConfiguration("http://127.0.0.1:1", reconnectTimeoutMs = 1u)
        assertThrowsBowline<BowlineException.Start> { engine.attach(unreachable, id, configuration()) }
        assertThrowsBowline<BowlineException.Start> { engine.start(configuration().copy(runner = unreachable)) }
        assertThrowsBowline<BowlineException.Configuration> { engine.attach(unreachable, "no id", configuration()) }
        assertThrowsBowline<BowlineException.Configuration> { engine.attach(unreachable.copy(url = "nowhere"), id, configuration()) }
        assertThrowsBowline<BowlineException.Configuration> {
            engine.attach(unreachable.copy(certificates = listOf("abc")), id, configuration())
        }
        val throwing = object : TokenProvider {
            override fun token(wasRefused: Boolean): String? = error("no token today")
        }
        val failed = assertThrowsBowline<BowlineException.Start> { engine.attach(unreachable.copy(tokenProvider = throwing), id, configuration()) }
        assertTrue("token" in failed.reason || "127.0.0.1" in failed.reason, failed.reason)
    }

    @Test
    fun `cancelled wait leaves the session running`() = runTest {
        session { session ->
            val waiting = launch { session.waitForEnd() }
            eventually("a call is pending") { Bowline.counters().pendingCalls > 0u }
            waiting.cancelAndJoin()
            eventually("no call is pending") { Bowline.counters().pendingCalls == 0uL }
            assertNull(withTimeoutOrNull(10) { session.send("x").waitFor(ReceiptState.ANSWERED).let { null } })
            assertFalse(session.hasEnded())
            assertEquals(ReceiptState.ANSWERED, session.send("hello").waitUntilSettled())
        }
    }

    @Test
    fun `conversation is resumed, unknown one is refused`() = runTest {
        val folder = temporaryDirectory()
        val id = "11111111-2222-4333-8444-555555555555"
        val fresh = configuration(folder = folder).copy(conversation = Conversation.NewAs(id))
        session(fresh) { session ->
            session.send("hello").waitUntilSettled()
            assertEquals(id, session.until { it.session?.sessionId != null }.session?.sessionId)
            session.end()
        }
        val again = configuration(folder = folder).copy(conversation = Conversation.Resume(id, fork = false))
        session(again) { session ->
            session.send("again").waitUntilSettled()
            assertEquals(id, session.until { it.results().isNotEmpty() }.session?.sessionId)
        }
        val unknown = again.copy(
            conversation = Conversation.Resume("99999999-2222-4333-8444-555555555555", fork = true),
            agentDirectory = folder.resolve("agent").toString(),
        )
        assertThrowsBowline<BowlineException.Resume> { engine.start(unknown) }
    }

    @Test
    fun `engine lists terminals, tombstones and permissions`() = runTest {
        val before = engine.metrics()
        lateinit var id: String
        session { session ->
            id = session.id()
            session.send("/ask make")
            val request = session.awaitPermissionRequest()
            val entry = engine.terminals().single { it.id == id }
            assertEquals("agent-dialogue" to ConnectionView.Connected, entry.tag to entry.connection)
            val open = engine.openPermissions().single { it.session == id }
            assertEquals(request.requestId, open.record.requestId)
            engine.respond(id, request.requestId, PermissionAnswer.Allow(null, null), "the list")
            session.until { it.results().isNotEmpty() }
        }
        val tombstone = engine.tombstones().single { it.id == id }
        assertTrue(tombstone.isExpected && tombstone.pid != null, tombstone.toString())
        assertTrue(engine.metrics().turns > before.turns)
        assertThrowsBowline<BowlineException.Ended> { engine.respond(id, "x", PermissionAnswer.ApprovePlan(null)) }
        assertThrowsBowline<BowlineException.Start> { engine.start(configuration().copy(program = "no-such-agent-anywhere")) }
        assertThrowsBowline<BowlineException.Configuration> {
            engine.start(configuration(options = AgentOptions(jsonSchema = "not a schema")))
        }
    }

    private fun DialogueEventItem.kind(): DialogueEventKind? = (this as? DialogueEventItem.Event)?.event?.kind
}
