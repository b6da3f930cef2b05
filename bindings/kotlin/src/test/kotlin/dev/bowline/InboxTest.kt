// Tests: Engine, InboxStream
package dev.bowline

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Test

class InboxTest {
    private val InboxEvent.session: String
        get() = when (this) {
            is InboxEvent.Opened -> request.session
            is InboxEvent.Closed -> request.session
            is InboxEvent.Attention -> session
        }

    /** The inbox without the sessions of other tests. */
    private fun inbox(session: DialogueSession): Flow<InboxEvent> = session.id().let { id -> engine.inbox().filter { it.session == id } }

    private suspend fun awaitReason(session: DialogueSession, holds: (AttentionReason) -> Boolean = { true }): AttentionReason {
        val event = inbox(session).first { it is InboxEvent.Attention && holds(it.reason) }
        return (event as InboxEvent.Attention).reason
    }

    @Test
    fun `requests of local and remote sessions are answered from the inbox`() = runTest {
        Runner().use { runner ->
            for (where in listOf(configuration(), configuration().copy(runner = runner.configuration))) {
                session(where) { session ->
                    session.send("/ask make test").use { asked ->
                        val opened = inbox(session).first { it is InboxEvent.Opened } as InboxEvent.Opened
                        val id = opened.request.record.requestId
                        // A new reader begins with what is open.
                        val again = inbox(session).first { it is InboxEvent.Opened } as InboxEvent.Opened
                        assertEquals(opened, again)
                        engine.respond(session.id(), id, PermissionAnswer.Allow(null, null), "phone")
                        assertThrowsBowline<BowlineException.TooLate> {
                            engine.respond(session.id(), id, PermissionAnswer.Deny("late", false), "laptop")
                        }
                        assertEquals(ReceiptState.ANSWERED, asked.waitUntilSettled())
                        assertEquals("phone", session.permissions().single { it.requestId == id }.answeredBy)
                    }
                    awaitReason(session) { it is AttentionReason.Finished }
                }
            }
        }
    }

    @Test
    fun `closed request has the name of who answered`() = runTest {
        session { session ->
            session.send("/ask make test").use { asked ->
                val events = ArrayList<InboxEvent>()
                inbox(session).first { event ->
                    events.add(event)
                    if (event is InboxEvent.Opened) {
                        val denied = PermissionAnswer.Deny("no", interrupt = false)
                        engine.respond(session.id(), event.request.record.requestId, denied, "laptop")
                    }
                    event is InboxEvent.Closed
                }
                val opened = events.filterIsInstance<InboxEvent.Opened>().single().request.record
                val closed = events.filterIsInstance<InboxEvent.Closed>().single().request.record
                assertEquals(listOf(opened.requestId, RequestState.ANSWERED, false, "laptop"), closed.run { listOf(requestId, state, isAllowed, answeredBy) })
                asked.waitUntilSettled()
            }
        }
    }

    @Test
    fun `attention has its reason, and a limit its reset`() = runTest {
        val failing = scenario(
            """
            [[turn]]
            match = "spend"
            steps = [
                { limits = { window_minutes = 300, used_percent = 100, resets_at = 1900000000 } },
                { fail = { status = 429, text = "limit reached", error = "rate_limit" } },
            ]
            """.trimIndent(),
        )
        session(failing) { session ->
            session.send("/error").use { it.waitUntilSettled() }
            awaitReason(session) { it is AttentionReason.Failure }
            session.send("spend").use { it.waitUntilSettled() }
            val limit = awaitReason(session) { it is AttentionReason.LimitReached } as AttentionReason.LimitReached
            assertEquals(1_900_000_000_000uL, limit.resetsAtMs)
            session.send("/ask make test").use { asked ->
                val question = awaitReason(session) { it is AttentionReason.Question } as AttentionReason.Question
                assertEquals(RequestKind.PERMISSION to "Bash", question.kind to question.toolName)
                session.deny(question.requestId, "no")
                asked.waitUntilSettled()
            }
        }
    }

    @Test
    fun `stopped inbox returns nothing`() = runTest {
        engine.inboxStream().use { stream ->
            stream.stop()
            assertNull(stream.next(0u, 1u, 0u))
        }
    }
}
