// Tests: History
package dev.bowline

import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class HistoryTest {
    private val folders = HistoryConfiguration(
        claudeDirectory = fixtures.resolve("history/claude").toString(),
        codexDirectory = fixtures.resolve("history/codex").toString(),
    )

    @Test
    fun `conversations are listed, searched and opened`() = runTest {
        engine.history(folders).use { history ->
            val all = history.list().conversations
            assertTrue(all.size > 4)
            assertEquals(all.map { it.lastActivityMs }.sortedDescending(), all.map { it.lastActivityMs })
            val codex = history.list(HistoryQuery(agent = "codex", limit = 1u)).conversations.single()
            assertEquals("codex", codex.agent)
            assertTrue(history.list(HistoryQuery(search = "no such words anywhere")).conversations.isEmpty())
            for (conversation in all) {
                history.open(conversation.id).use { recording ->
                    val past = Transcript()
                    recording.changes(maxCount = 7u).collect(past::apply)
                    assertTrue(past.entries.isNotEmpty() && past.entries.all { it.detail.isHistory }, conversation.id)
                    assertEquals(recording.snapshot().use { it.json() }, past.toJson(), conversation.id)
                }
            }
            assertThrowsBowline<BowlineException.NotFound> { history.open("no-such-conversation") }
            assertThrowsBowline<BowlineException.Invalid> { history.list(HistoryQuery(agent = "aider")) }
        }
    }

    @Test
    fun `resumed conversation begins with its past`() = runTest {
        val id = engine.history(folders).use { it.list(HistoryQuery(agent = "claude", limit = 1u)).conversations.single().id }
        val resumed = configuration().copy(conversation = Conversation.Resume(id, fork = false), history = folders)
        session(resumed) { session ->
            val past = session.transcripts().first { it.entries.isNotEmpty() }.entries
            assertTrue(past.first().detail.isHistory, "${past.map { it.value }}")
        }
    }
}
