// Tests: HookServer, HookStream, HookQuestionStream
package dev.bowline

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class HooksTest {
    private val gate = HookGate(listOf("PreToolUse"), 30_000u, HookReply.Nothing)

    private fun withHooks(server: HookServer): DialogueConfiguration {
        val options = AgentOptions(settings = AgentDocument.Private(server.settings("i1")))
        val plain = configuration(options = options)
        val environment = plain.environment!!
        return plain.copy(environment = environment.copy(set = environment.set + server.environment("i1")))
    }

    @Test
    fun `settings leave out what a version does not know`() = runTest {
        engine.startHooks(HookConfiguration()).use { server ->
            val newest = server.settingsFor("i1", AgentVersion(2u, 1u, 330u))
            assertEquals(server.settings("i1"), newest)
            val older = assertThrowsBowline<BowlineException.Configuration> { server.settingsFor("i1", AgentVersion(1u, 0u, 128u)) }
            assertTrue("2.1.63" in older.reason, older.reason)
            server.stop()
        }
    }

    @Test
    fun `hook event is received and its question answered`() = runTest {
        assertTrue("PreToolUse" in commonHookKinds())
        engine.startHooks(HookConfiguration(gate = gate)).use { server ->
            assertTrue(server.url("i1").startsWith("http://127.0.0.1:"))
            assertTrue(server.token().length >= 32)
            assertThrowsBowline<BowlineException.Invalid> { server.url("../x") }
            val toolUsed = async(start = CoroutineStart.UNDISPATCHED) { server.events().first { it is HookEventItem.Event && it.event.kind == "PostToolUse" } }
            val questions = server.questionStream()
            assertThrowsBowline<BowlineException.Busy> { server.questionStream() }
            session(withHooks(server)) { session ->
                session.send("/tool ls")
                val batch = questions.next(0u, 1u, 0u)!!
                assertEquals("PreToolUse", batch.events.single().event.kind)
                val question = batch.events.single().id
                assertThrowsBowline<BowlineException.Invalid> { server.answer(question, HookReply.Raw("[")) }
                assertThrowsBowline<BowlineException.Invalid> { server.answer(question, HookReply.AcceptForm("[")) }
                server.answer(question, HookReply.Tool(ToolVerdict.ALLOW, null, null, null))
                assertThrowsBowline<BowlineException.NotFound> { server.answer(question, HookReply.Nothing) }
                session.until { it.results().isNotEmpty() }
                toolUsed.await()
                session.send("/tool rm")
                val denied = questions.next(batch.cursor, 1u, 0u)!!.events.single()
                server.answer(denied.id, HookReply.Tool(ToolVerdict.DENY, "no", null, null))
                val transcript = session.until { it.results().size == 2 }
                assertEquals(CallState.FAILED, transcript.toolCalls().last().state)
            }
            questions.stop()
            questions.use { assertNull(it.next(0u, 1u, 0u)) }
            server.eventStream().use { events ->
                events.stop()
                assertNull(events.next(0u, 1u, 0u))
            }
            assertTrue(server.report().events > 0u)
            assertTrue(server.stop().events > 0u)
            assertThrowsBowline<BowlineException.Ended> { server.report() }
            assertThrowsBowline<BowlineException.Ended> { server.stop() }
        }
    }

    @Test
    fun `invalid hook configuration is refused`() = runTest {
        assertThrowsBowline<BowlineException.Configuration> {
            engine.startHooks(HookConfiguration(variables = HookVariables(token = "not a name")))
        }
        assertThrowsBowline<BowlineException.Configuration> {
            engine.startHooks(HookConfiguration(gate = HookGate(listOf("Stop"), 1u, HookReply.Tool(ToolVerdict.ASK, null, null, null))))
        }
    }

    /** A runner stands in for a backend: it refuses tokens that are not its own. */
    @Test
    fun `https backend is reached with an authority and a token of the provider`() = runTest {
        val folder = temporaryDirectory()
        val generator = ProcessBuilder(programs.resolve("examples/certificates").toString(), folder.toString()).start()
        assertEquals(0, generator.waitFor())
        val file = { name: String -> folder.resolve(name).toString() }
        val serve = RunningProgram(
            "bowline", "serve", "--listen", "127.0.0.1:0", "--state-dir", file("state"), "--socket", file("socket"),
            "--tls-cert", file("localhost.crt"), "--tls-key", file("localhost.key"),
        )
        serve.use {
            val port = serve.lineAfter("listening on https://").substringAfterLast(":")
            for (authority in listOf(file("authority.pem"), null)) {
                val tokens = object : TokenProvider {
                    val refusals = java.util.concurrent.CopyOnWriteArrayList<Boolean>()
                    override fun token(wasRefused: Boolean) = "secret".also { refusals += wasRefused }
                }
                val backend = HookBackend(
                    "https://localhost:$port", "s", tokenProvider = tokens, authorities = authority, attempts = 3u, backoffMs = 1u,
                )
                engine.startHooks(HookConfiguration(backend = backend)).use { server ->
                    session(withHooks(server)) { session ->
                        session.send("/tool ls").use { it.waitUntilSettled() }
                    }
                    val forward = server.stop().forward!!
                    assertTrue(forward.failed > 0u, forward.toString())
                }
                assertEquals(authority != null, true in tokens.refusals, "the answer 401 arrives only over a trusted link")
                assertTrue(tokens.refusals.size >= 3, "each attempt asks")
            }
        }
    }

    @Test
    fun `existing hook script posts to a secret path without a token`() = runTest {
        val configuration = HookConfiguration(secretPath = true, variables = HookVariables(url = "CODE_MY_SPEC_CALLBACK_URL"))
        engine.startHooks(configuration).use { server ->
            val url = server.environment("i1").getValue("CODE_MY_SPEC_CALLBACK_URL")
            val client = java.net.http.HttpClient.newHttpClient()
            for ((address, status) in listOf(url to 200, server.url("i1") to 401)) {
                val body = java.net.http.HttpRequest.BodyPublishers.ofString("""{"hook_event_name":"Stop"}""")
                val request = java.net.http.HttpRequest.newBuilder(java.net.URI(address)).POST(body).build()
                val answer = client.send(request, java.net.http.HttpResponse.BodyHandlers.ofString())
                assertEquals(status, answer.statusCode())
            }
            assertEquals(1uL, server.stop().events)
        }
    }

    @Test
    fun `hooks of an agent at a runner are decided here`() = runTest {
        Runner().use { runner ->
            val helped = HookConfiguration(helper = HookHelper("/usr/bin/bowline"))
            engine.startHooks(helped).use { assertThrowsBowline<BowlineException.Configuration> { it.spec("i1") } }
            engine.startHooks(HookConfiguration(gate = gate)).use { server ->
                val there = configuration().copy(runner = runner.configuration, hooks = server.spec("i1"))
                val local = there.copy(runner = null)
                assertThrowsBowline<BowlineException.Start> { engine.start(local) }
                session(there) { session ->
                    server.serve(runner.configuration, session.id())
                    server.questionStream().use { questions ->
                        session.send("/tool ls").use { receipt ->
                            val question = questions.next(0u, 1u, 0u)!!.events.single()
                            assertEquals("PreToolUse", question.event.kind)
                            server.answer(question.id, HookReply.Tool(ToolVerdict.DENY, "not there", null, null))
                            receipt.waitUntilSettled()
                        }
                    }
                    val transcript = session.until { it.results().isNotEmpty() }
                    assertEquals(CallState.FAILED, transcript.toolCalls().single().state)
                }
                assertThrowsBowline<BowlineException.Configuration> { server.serve(runner.configuration, "not an id") }
                assertTrue(server.stop().events > 0u)
            }
        }
    }

    @Test
    fun `stopped server receives no more hooks of a runner`() = runTest {
        Runner().use { runner ->
            engine.startHooks(HookConfiguration()).use { server ->
                session(configuration().copy(runner = runner.configuration, hooks = server.spec("i1"))) { session ->
                    server.serve(runner.configuration, session.id())
                    server.eventStream().use { events ->
                        server.stop()
                        assertNull(events.next(0u, 1u, 0u))
                    }
                }
            }
        }
    }
}
