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
    fun `a host sees what a runner has and ends it`() = live {
        Runner().use { runner ->
            val client = engine.runner(runner.configuration)
            assertTrue(client.sessions().isEmpty())
            val folder = temporary()
            val started = configuration(folder = folder).copy(runner = runner.configuration)
            val id = engine.start(started).use { session ->
                session.say("hello").use { it.settled() }
                session.until { it.results().size == 1 }
                session.id().also { session.detach() }
            }
            val there = client.sessions().single()
            assertEquals(listOf(id, SessionKind.DIALOGUE, RunnerSessionState.RUNNING), listOf(there.id, there.kind, there.state))
            assertEquals(understudy, there.program)
            assertEquals(folder.toString(), there.cwd)
            assertNotNull(there.pid)
            val transcript = client.transcript(id)
            assertTrue(""""text":"hello"""" in transcript, transcript)
            val log = client.log(id)
            assertTrue(log.decodeToString().startsWith("{"), "what the agent has written")
            assertArrayEquals(log.copyOfRange(7, log.size), client.log(id, 7u))
            client.end(id, isForced = true, keepsLog = true)
            val ended = client.session(id)
            assertEquals(RunnerSessionState.EXITED, ended.state)
            assertNull(ended.pid)
            assertTrue(ended.endedMs!! >= ended.startedMs, ended.json)
            // It may hear of the end of its input before it is killed.
            assertTrue(ended.signal != null || ended.code != null, ended.json)
            client.end(id)
            assertTrue(client.sessions().isEmpty())
            refused<BowlineException.NotFound> { client.session(id) }
            refused<BowlineException.Configuration> { client.log("../tokens") }
            val wrong = runner.configuration.copy(token = "0".repeat(runner.token.length))
            refused<BowlineException.Start> { engine.runner(wrong).sessions() }
        }
        refused<BowlineException.Configuration> { engine.runner(RunnerConfiguration("nowhere")) }
    }

    private fun identity(folder: Path, name: String) =
        ClientIdentity(folder.resolve("$name.crt").toString(), folder.resolve("$name.key").toString())

    @Test
    fun `a runner that wants certificates lets in who shows one`() = live {
        val folder = temporary()
        val made = ProcessBuilder(programs.resolve("examples/certificates").toString(), folder.toString()).start()
        assertEquals(0, made.waitFor())
        Runner(authority = folder.resolve("authority.pem")).use { runner ->
            val friend = runner.configuration.copy(identity = identity(folder, "friend"))
            session(configuration().copy(runner = friend)) { session ->
                assertEquals(ReceiptState.ANSWERED, session.say("hello").use { it.settled() })
                assertEquals(session.id(), engine.runner(friend).sessions().single().id)
            }
            for (shown in listOf(null, identity(folder, "stranger"))) {
                val other = runner.configuration.copy(identity = shown)
                val refusal = refused<BowlineException.Start> { engine.start(configuration().copy(runner = other)) }
                assertTrue("show it one" in refusal.reason, refusal.reason)
            }
            Files.delete(folder.resolve("friend.key"))
            val refusal = refused<BowlineException.Start> { engine.runner(friend).sessions() }
            assertTrue("friend.key" in refusal.reason, refusal.reason)
        }
    }
}
