// Tests: DialogueSession, SessionManager
package dev.bowline

import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class BudgetTest {
    @Test
    fun `session pauses at its limit until it is raised`() = runTest {
        session(configuration().copy(budget = Budget(turns = 1u))) { session ->
            session.send("one").use { it.waitUntilSettled() }
            val request = session.awaitPermissionRequest()
            assertEquals("budget", request.toolName)
            assertEquals(listOf("raise", "go_on", "stop"), request.options.map { it.id })
            val reason = session.until { it.phase == Phase.AWAITING_PERMISSION }.reason
            assertEquals("paused: turn limit of 1 turn reached (1 turn)", reason)
            session.send("two").use { held ->
                session.respond(request.requestId, PermissionAnswer.Answers(listOf(QuestionAnswer("budget", "2"))))
                assertEquals(ReceiptState.ANSWERED, held.waitUntilSettled())
            }
            val record = session.permissions().first { it.requestId == request.requestId }
            assertEquals("raised to 2 turns", record.answeredHow)
            val next = session.awaitPermissionRequest()
            session.respond(next.requestId, PermissionAnswer.Choose("stop"))
            assertTrue(session.waitForEnd().isExpected)
        }
    }

    @Test
    fun `budget of a manager pauses all its sessions`() = runTest {
        val folder = temporaryDirectory()
        val state = ManagerConfiguration(folder.resolve("state").toString(), budget = Budget(turns = 2u))
        engine.openManager(state).use { manager ->
            val (one, two) = listOf("one", "two").map { label ->
                val made = manager.createDialogue(configuration(folder = folder), label)
                manager.dialogue(made.id).also { session -> session.send("hello").use { it.waitUntilSettled() } }
            }
            val asked = one.awaitPermissionRequest()
            assertEquals("budget", asked.toolName)
            two.awaitPermissionRequest()
            two.send("more").use { held ->
                one.respond(asked.requestId, PermissionAnswer.Answers(listOf(QuestionAnswer("budget", "3"))))
                assertEquals(ReceiptState.ANSWERED, held.waitUntilSettled())
            }
            assertEquals(Budget(turns = 3u), manager.budget().limits)
            val last = two.awaitPermissionRequest()
            assertEquals(3uL, manager.budget().turns)
            two.respond(last.requestId, PermissionAnswer.Choose("stop"))
            assertTrue(two.waitForEnd().isExpected)
            manager.setBudget(null)
            one.send("on").use { assertEquals(ReceiptState.ANSWERED, it.waitUntilSettled()) }
            assertThrowsBowline<BowlineException.Invalid> { manager.setBudget(Budget(turns = 0u)) }
            listOf(one, two).forEach { it.close() }
            manager.endAll()
        }
    }

    @Test
    fun `session continues after its usage limit`() = runTest {
        val failing = scenario(
            """
            [[turn]]
            match = "spend"
            steps = [
                { limits = { window_minutes = 300, used_percent = 100, resets_at = 4000000000 } },
                { fail = { status = 429, text = "limit reached", error = "rate_limit" } },
            ]
            """.trimIndent(),
        )
        session(failing.copy(resumeAtReset = "Go on with it.")) { session ->
            session.send("spend").use { it.waitUntilSettled() }
            val request = session.awaitPermissionRequest()
            assertEquals("usage_limit" to listOf("go_on", "stop"), request.toolName to request.options.map { it.id })
            // The inbox has the time of the reset, for a countdown.
            val waiting = engine.inbox().first { it is InboxEvent.Attention && it.session == session.id() }
            val reason = (waiting as InboxEvent.Attention).reason as AttentionReason.LimitReached
            assertEquals(4_000_000_000_000uL, reason.resetsAtMs)
            session.respond(request.requestId, PermissionAnswer.Choose("go_on"))
            val prompts = session.until { it.results().size == 2 }.entries.mapNotNull { it.value as? EntryKind.User }
            assertEquals(listOf("spend", "Go on with it."), prompts.map { it.text })
        }
    }

    @Test
    fun `limit that cannot be kept is refused`() = runTest {
        assertThrowsBowline<BowlineException> { engine.start(configuration().copy(budget = Budget(turns = 0u))).close() }
        val codex = configuration("--dialect", "codex").copy(dialect = "codex", budget = Budget(costUsd = 1.0))
        assertThrowsBowline<BowlineException> { engine.start(codex).close() }
    }
}
