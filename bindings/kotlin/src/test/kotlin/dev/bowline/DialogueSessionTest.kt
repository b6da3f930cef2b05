// Tests: DialogueSession, DialogueEventStream, Receipt, Engine, TokenProvider
package dev.bowline

import kotlin.time.Duration.Companion.milliseconds
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
    fun `what the window has given up comes back from the recording`() = live {
        val folder = temporary()
        val windowed = configuration(folder = folder)
            .copy(window = TranscriptWindow(entries = 8u), record = folder.resolve("session.bjl").toString())
        session(windowed) { session ->
            repeat(20) { session.say("prompt $it").use { receipt -> receipt.settled() } }
            val kept = session.until { it.phase == Phase.IDLE && "prompt 19" in it.prompts() }.prompts()
            val found = ArrayList<String>()
            var before: UInt? = null
            do {
                val page = session.older(before) ?: break
                before = page.first
                found.addAll(0, page.changes.mapNotNull { ((it as? Change.Entry)?.value as? EntryKind.User)?.text })
            } while (page.hasOlder)
            assertTrue("prompt 0" in found)
            assertEquals(List(20) { "prompt $it" }, (found + kept).distinct())
        }
        session(configuration().copy(window = TranscriptWindow(entries = 8u))) { session ->
            repeat(20) { session.say("prompt $it").use { receipt -> receipt.settled() } }
            refused<BowlineException.Invalid> { session.older() }
        }
    }

    private fun Transcript.prompts() = entries.mapNotNull { (it.value as? EntryKind.User)?.text }

    @Test
    fun `a prompt is answered while it streams`() = live {
        session { session ->
            assertNotNull(session.pid())
            assertEquals(36, session.id().length)
            assertFalse(session.hasEnded())
            assertEquals(ConnectionView.Connected, session.connection())
            val receipt = session.say("hello", uuid = "0f0e0d0c-0b0a-4908-8706-050403020100")
            assertEquals("0f0e0d0c-0b0a-4908-8706-050403020100", receipt.uuid())
            assertEquals(ReceiptState.ANSWERED, receipt.settled())
            assertEquals(ReceiptState.ANSWERED, receipt.state())
            val transcript = session.until { it.results().isNotEmpty() }
            assertTrue(transcript.said().isNotBlank())
            assertEquals(Outcome.COMPLETED, transcript.results().single().outcome)
            assertEquals(Phase.IDLE, session.phase())
            assertTrue(session.lastActivity().ageMs < 60_000u)
            // The agent may say a line more in between, which the statistics count.
            val said = { json: String -> json.substringBefore(",\"stats\":") }
            assertEquals(said(session.snapshot().use { it.json() }), said(transcript.toJson()))
            val end = session.end()
            assertTrue(end.isExpected, end.reason)
            assertTrue(session.hasEnded())
            assertEquals(end, session.ended())
        }
    }

    @Test
    fun `a tool runs when it is allowed and not when it is denied`() = live {
        session { session ->
            val first = session.say("/ask make test")
            val request = session.asked()
            assertEquals("Bash", request.toolName)
            assertTrue("make test" in request.input)
            session.allow(request.requestId)
            session.allow(request.requestId)
            first.settled()
            val second = session.say("/ask rm -rf build")
            val other = session.asked()
            session.respond(other.requestId, PermissionAnswer.Deny("not now", false), by = "a test")
            second.settled()
            val transcript = session.until { it.results().size == 2 }
            val states = transcript.toolCalls().map { it.state }
            assertEquals(listOf(CallState.SUCCEEDED, CallState.FAILED), states)
            assertEquals(listOf(PermissionState.ALLOWED, PermissionState.DENIED), transcript.permissions.map { it.state })
            val records = session.permissions().associateBy { it.requestId }
            assertEquals("a test", records.getValue(other.requestId).answeredBy)
            val late = refused<BowlineException.TooLate> { session.allow(other.requestId) }
            assertTrue("a test" in late.reason, late.reason)
        }
    }

    @Test
    fun `questions and plans are answered in their own shape`() = live {
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
            session.say("begin")
            val question = session.asked()
            val asked = question.kind as PermissionKind.Questions
            assertEquals(listOf("red", "blue"), asked.questions.single().options.map { it.label })
            refused<BowlineException.Invalid> { session.respond(question.requestId, PermissionAnswer.ApprovePlan(null)) }
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
    fun `an interrupt ends the turn and not the session`() = live {
        session(configuration("--pace", "1")) { session ->
            session.say("/sleep 600")
            session.until { it.toolCalls().any { call -> call.state == CallState.RUNNING } }
            session.interrupt(InterruptScope.TurnAndQueued)
            val transcript = session.until { it.results().isNotEmpty() }
            assertEquals(Outcome.CANCELLED, transcript.results().single().outcome)
            session.say("hello").settled()
            assertEquals(2, session.until { it.results().size == 2 }.results().size)
        }
    }

    @Test
    fun `model, mode and other requests reach the agent`() = live {
        session { session ->
            session.say("hello").settled()
            session.setModel("claude-other")
            session.setPermissionMode("plan")
            session.until { it.session?.permissionMode == "plan" }
            val answer = session.request("set_max_thinking_tokens", """{"max_thinking_tokens":null}""")
            assertTrue(answer.startsWith("{"), answer)
            refused<BowlineException.Invalid> { session.request("x", "[") }
            refused<BowlineException.Refused> { session.request("no_such_request") }
        }
    }

    @Test
    fun `a pause keeps prompts back`() = live {
        session { session ->
            session.say("hello").settled()
            session.pause()
            val held = session.say("held")
            assertEquals(ReceiptState.ACCEPTED, held.state())
            session.unpause()
            assertEquals(ReceiptState.ANSWERED, held.settled())
        }
    }

    @Test
    fun `an agent that ends unasked leaves its reason in the transcript`() = live {
        session { session ->
            session.say("/exit 3")
            val end = session.ended()
            assertFalse(end.isExpected)
            assertEquals(3, end.exit.code)
            val last = session.batches().toList().let { batches -> Transcript().also { t -> batches.forEach(t::apply) } }
            assertEquals(Phase.ENDED, last.phase)
            val errors = last.entries.mapNotNull { (it.value as? EntryKind.Error)?.kind }
            assertEquals(listOf(EntryErrorKind.UNEXPECTED_EXIT), errors)
            refused<BowlineException.Ended> { session.say("anybody?") }
        }
    }

    @Test
    fun `a signal reaches the agent`() = live {
        session { session ->
            session.say("hello").settled()
            session.signal(SignalKind.KILL)
            assertEquals(9, session.ended().exit.signal)
            refused<BowlineException.Ended> { session.signal(SignalKind.INTERRUPT) }
            refused<BowlineException.Invalid> { session.retry() }
        }
    }

    @Test
    fun `events tell what happens, from the beginning where that is asked for`() = live {
        val heard = engine.startHeard(configuration())
        heard.session.use { session ->
            val later = async(start = CoroutineStart.UNDISPATCHED) { session.happenings().first { it.kind() is DialogueEventKind.TurnEnd } }
            session.say("hello")
            later.await()
            session.end()
            val kinds = mutableListOf<DialogueEventKind>()
            heard.events.use { events ->
                var cursor: ULong = 0u
                while (true) {
                    val batch = events.next(cursor, 100u, 0u) ?: break
                    assertEquals(batch, events.next(cursor, 100u, 0u).let { it ?: batch }, "taking takes nothing away")
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
    fun `streams of a session are read by their cursors and stopped`() = live {
        session { session ->
            session.events().use { events ->
                session.send(Prompt(listOf(PromptPart.Text("hello")))).use { it.settled() }
                val first = events.next(0u, 1u, 0u)!!
                assertEquals(first, events.next(0u, 1u, 0u))
                events.stop()
                assertNull(events.next(first.cursor, 1u, 0u))
            }
            session.changes().use { changes ->
                val first = changes.next(0u, 1u, 0u)!!
                assertTrue(first.isReset)
                assertEquals(first.cursor, changes.nextBlocking(0u, 1u, 0u, 5_000u)?.cursor)
                val end = session.terminate()
                assertTrue(end.isExpected)
                refused<BowlineException.Invalid> { session.detach() }
            }
        }
    }

    @Test
    fun `a runner that cannot be had is an error`() = live {
        val id = "11111111-2222-4333-8444-555555555555"
        val nobody = RunnerConfiguration("http://127.0.0.1:1", patienceMs = 1u)
        refused<BowlineException.Start> { engine.attach(nobody, id, configuration()) }
        refused<BowlineException.Start> { engine.start(configuration().copy(runner = nobody)) }
        refused<BowlineException.Configuration> { engine.attach(nobody, "no id", configuration()) }
        refused<BowlineException.Configuration> { engine.attach(nobody.copy(url = "nowhere"), id, configuration()) }
        refused<BowlineException.Configuration> {
            engine.attach(nobody.copy(certificates = listOf("abc")), id, configuration())
        }
        val thrower = object : TokenProvider {
            override fun token(wasRefused: Boolean): String? = error("no token today")
        }
        val failed = refused<BowlineException.Start> { engine.attach(nobody.copy(tokens = thrower), id, configuration()) }
        assertTrue("token" in failed.reason || "127.0.0.1" in failed.reason, failed.reason)
    }

    @Test
    fun `waiting is given up and the session goes on`() = live {
        session { session ->
            val waiting = launch { session.ended() }
            eventually("a call waits") { Bowline.counters().calls > 0u }
            waiting.cancelAndJoin()
            eventually("no call waits", 100.milliseconds) { Bowline.counters().calls == 0uL }
            assertNull(withTimeoutOrNull(10) { session.say("x").reached(ReceiptState.ANSWERED).let { null } })
            assertFalse(session.hasEnded())
            assertEquals(ReceiptState.ANSWERED, session.say("hello").settled())
        }
    }

    @Test
    fun `a conversation is resumed, and one that is not there is refused`() = live {
        val folder = temporary()
        val id = "11111111-2222-4333-8444-555555555555"
        val fresh = configuration(folder = folder).copy(conversation = Conversation.NewAs(id))
        session(fresh) { session ->
            session.say("hello").settled()
            assertEquals(id, session.until { it.session?.sessionId != null }.session?.sessionId)
            session.end()
        }
        val again = configuration(folder = folder).copy(conversation = Conversation.Resume(id, fork = false))
        session(again) { session ->
            session.say("again").settled()
            assertEquals(id, session.until { it.results().isNotEmpty() }.session?.sessionId)
        }
        val looked = again.copy(
            conversation = Conversation.Resume("99999999-2222-4333-8444-555555555555", fork = true),
            agentFolder = folder.resolve("agent").toString(),
        )
        refused<BowlineException.Resume> { engine.start(looked) }
    }

    @Test
    fun `the engine lists what lives and what has ended`() = live {
        val before = engine.metrics()
        lateinit var id: String
        session { session ->
            id = session.id()
            session.say("/ask make")
            val request = session.asked()
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
        refused<BowlineException.Ended> { engine.respond(id, "x", PermissionAnswer.ApprovePlan(null)) }
        refused<BowlineException.Start> { engine.start(configuration().copy(program = "no-such-agent-anywhere")) }
        refused<BowlineException.Configuration> {
            engine.start(configuration(options = AgentOptions(jsonSchema = "not a schema")))
        }
    }

    private fun HeardDialogueEvent.kind(): DialogueEventKind? = (this as? HeardDialogueEvent.Event)?.event?.kind
}
