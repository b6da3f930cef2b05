// Tests: RunnerClient
package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class RunnerClientTest {
    @Test
    fun `client lists and ends sessions of a runner`() = runTest {
        Runner().use { runner ->
            val client = engine.runner(runner.configuration)
            assertTrue(client.sessions().isEmpty())
            val folder = temporaryDirectory()
            val started = configuration(folder = folder).copy(runner = runner.configuration)
            val id = engine.start(started).use { session ->
                session.send("hello").use { it.waitUntilSettled() }
                session.until { it.results().size == 1 }
                session.id().also { session.detach() }
            }
            val listed = client.sessions().single()
            assertEquals(listOf(id, SessionKind.DIALOGUE, RunnerSessionState.RUNNING), listOf(listed.id, listed.kind, listed.state))
            assertEquals(understudy, listed.program)
            assertEquals(folder.toString(), listed.cwd)
            assertNotNull(listed.pid)
            val transcript = client.transcript(id)
            assertTrue(""""text":"hello"""" in transcript, transcript)
            val log = client.log(id)
            assertTrue(log.decodeToString().startsWith("{"), "the agent's output")
            assertArrayEquals(log.copyOfRange(7, log.size), client.log(id, 7u))
            client.end(id, isForced = true)
            val ended = client.session(id)
            assertEquals(RunnerSessionState.EXITED, ended.state)
            assertNull(ended.pid)
            assertTrue(ended.endedMs!! >= ended.startedMs, ended.json)
            // The agent may exit at the end of its input before it is killed.
            assertTrue(ended.signal != null || ended.code != null, ended.json)
            client.end(id, keepsLog = false)
            assertTrue(client.sessions().isEmpty())
            val restored = client.restore(id)
            assertEquals(listOf(ended.id, ended.state, ended.endedMs), listOf(restored.id, restored.state, restored.endedMs))
            assertEquals(listOf(ended.id), client.sessions().map { it.id })
            client.end(id, keepsLog = false)
            assertThrowsBowline<BowlineException.NotFound> { client.session(id) }
            assertThrowsBowline<BowlineException.Configuration> { client.log("../tokens") }
            val wrong = runner.configuration.copy(token = "0".repeat(runner.token.length))
            assertThrowsBowline<BowlineException.Start> { engine.runner(wrong).sessions() }
        }
        assertThrowsBowline<BowlineException.Configuration> { engine.runner(RunnerConfiguration("nowhere")) }
    }

    private fun identity(folder: Path, name: String) =
        ClientIdentity(folder.resolve("$name.crt").toString(), folder.resolve("$name.key").toString())

    @Test
    fun `runner accepts only trusted client certificates`() = runTest {
        val folder = temporaryDirectory()
        val generator = ProcessBuilder(programs.resolve("examples/certificates").toString(), folder.toString()).start()
        assertEquals(0, generator.waitFor())
        Runner(authority = folder.resolve("authority.pem")).use { runner ->
            val trusted = runner.configuration.copy(identity = identity(folder, "trusted"))
            session(configuration().copy(runner = trusted)) { session ->
                assertEquals(ReceiptState.ANSWERED, session.send("hello").use { it.waitUntilSettled() })
                assertEquals(session.id(), engine.runner(trusted).sessions().single().id)
            }
            for (identity in listOf(null, identity(folder, "untrusted"))) {
                val other = runner.configuration.copy(identity = identity)
                val refusal = assertThrowsBowline<BowlineException.Start> { engine.start(configuration().copy(runner = other)) }
                assertTrue("certificate" in refusal.reason, refusal.reason)
            }
            Files.delete(folder.resolve("trusted.key"))
            val refusal = assertThrowsBowline<BowlineException.Start> { engine.runner(trusted).sessions() }
            assertTrue("trusted.key" in refusal.reason, refusal.reason)
        }
    }
}
