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
            val report = manager.endAll()
            assertNull(report.listError)
            assertThrowsBowline<BowlineException.Ended> { manager.createDialogue(configuration(folder = folder), "late") }
        }
        engine.openManager(state).use { manager ->
            assertEquals("renamed", manager.sessions().single().label)
        }
    }

    @Test
    fun `manager finds its sessions at a runner again`() = runTest {
        val state = ManagerConfiguration(temporaryDirectory().toString())
        Runner().use { runner ->
            val there = configuration().copy(runner = runner.configuration, labels = mapOf("team" to "blue"))
            val id = engine.openManager(state).use { manager ->
                val made = manager.createDialogue(there, "mine")
                assertEquals(runner.configuration.url, made.runner?.url)
                manager.dialogue(made.id).use { session -> session.send("hello").use { it.waitUntilSettled() } }
                manager.setMetadata(made.id, "a draft")
                assertThrowsBowline<BowlineException.Invalid> { manager.setMetadata(made.id, "m".repeat(65_537)) }
                assertTrue(manager.detachAll().sessions.isEmpty())
                made.id
            }
            engine.openManager(state).use { manager ->
                assertEquals(SessionState.DETACHED, manager.session(id)?.state)
                assertThrowsBowline<BowlineException.Disconnected> { manager.dialogue(id) }
                assertEquals(listOf(id), manager.reattach(emptyList()).failed.map { it.id })
                assertEquals(listOf(id), manager.reattach(listOf(runner.configuration)).attached)
                manager.dialogue(id).use { session -> session.until { it.results().size == 1 } }
                assertEquals("a draft", manager.metadata(id))
                val client = engine.runner(runner.configuration)
                val listed = client.sessions().single()
                assertEquals(listOf("mine", mapOf("team" to "blue"), null), listOf(listed.name, listed.labels, listed.metadata))
                assertEquals("a draft", client.session(listed.id).metadata)
                val change = RunnerSessionChange(name = "yours", labels = mapOf("team" to null), metadata = "")
                val changed = client.update(listed.id, change)
                assertEquals(listOf("yours", emptyMap<String, String>(), null), listOf(changed.name, changed.labels, changed.metadata))
                val reserved = RunnerSessionChange(labels = mapOf("bowline.driver" to "daemon"))
                assertThrowsBowline<BowlineException.Refused> { client.update(listed.id, reserved) }
                assertEquals(listOf(id), manager.endAll().sessions.map { it.id })
            }
        }
    }
}
