// Tests: SessionManager
package dev.bowline

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class ManagerTest {
    @Test
    fun `sessions are created, listed, prompted, ended and resumed`() = runTest {
        val folder = temporaryDirectory()
        val state = ManagerConfiguration(folder.resolve("state").toString(), agentDirectory = folder.resolve("agent").toString())
        engine.openManager(state).use { manager ->
            assertTrue(manager.warnings().isEmpty())
            assertThrowsBowline<BowlineException.Busy> { engine.openManager(state) }
            val firstEvent = async(start = CoroutineStart.UNDISPATCHED) { manager.events().first() }
            val made = manager.createDialogue(configuration(folder = folder), "first")
            firstEvent.await()
            manager.eventStream().use { it.stop() }
            assertEquals(SessionKind.DIALOGUE, made.kind)
            manager.setLabel(made.id, "renamed")
            assertEquals("renamed", manager.session(made.id)?.label)
            val sent = manager.sendPrompt(made.id, "hello") as ManagerPrompt.Dialogue
            sent.receipt.use { assertEquals(ReceiptState.ANSWERED, it.waitUntilSettled()) }
            manager.dialogue(made.id).use { it.until { transcript -> transcript.results().isNotEmpty() } }
            assertThrowsBowline<BowlineException.Invalid> { manager.shell(made.id) }

            val shell = ShellConfiguration(folder.toString(), program = ShellProgram.Command("/bin/cat", emptyList()))
            val typed = manager.createShell(shell, "second")
            manager.shell(typed.id).use { assertNotNull(it.pid()) }
            assertEquals(listOf(made.id, typed.id), manager.sessions().map { it.id })
            manager.flush()
            assertEquals(typed.id, manager.kill(typed.id).session.id)
            assertThrowsBowline<BowlineException.NotFound> { manager.kill(typed.id) }
            assertNull(manager.session(typed.id))
            assertThrowsBowline<BowlineException.Invalid> { manager.session("not an id") }

            assertEquals(listOf(made.id), manager.cleanup().map { it.id })
            assertNotNull(manager.session(made.id)?.end)
            val conversation = runCatching { manager.resume(made.id, configuration(folder = folder)) }
            conversation.onFailure { assertTrue(it is BowlineException.Resume, it.toString()) }
            val report = manager.shutdown()
            assertNull(report.listError)
            assertThrowsBowline<BowlineException.Ended> { manager.createDialogue(configuration(folder = folder), "late") }
        }
        engine.openManager(state).use { manager ->
            assertEquals("renamed", manager.sessions().single().label)
        }
    }
}
