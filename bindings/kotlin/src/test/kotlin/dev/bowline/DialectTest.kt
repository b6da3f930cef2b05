// Tests: DialogueSession
package dev.bowline

import java.nio.file.Files
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Agents that speak another protocol than Claude Code's. */
class DialectTest {
    private fun speaking(dialect: String) = configuration("--dialect", dialect).copy(dialect = dialect)

    @Test
    fun `prompt is answered in every dialect`() = runTest {
        for (dialect in listOf("codex", "acp")) {
            session(speaking(dialect)) { session ->
                val settled = session.send("hello").use { it.waitUntilSettled() }
                assertEquals(ReceiptState.ANSWERED, settled, dialect)
                val transcript = session.until { it.results().isNotEmpty() }
                assertTrue(transcript.text().isNotBlank(), dialect)
                assertEquals(TurnOutcome.COMPLETED, transcript.results().single().outcome, dialect)
            }
        }
    }

    @Test
    fun `request is answered by the id of an option`() = runTest {
        for (dialect in listOf("codex", "acp")) {
            for ((kind, isAllowed) in listOf(AnswerKind.ALLOW_ONCE to true, AnswerKind.REJECT_ONCE to false)) {
                session(speaking(dialect)) { session ->
                    val receipt = session.send("/ask make test")
                    val request = session.awaitPermissionRequest()
                    val option = request.options.first { it.kind == kind }
                    assertThrowsBowline<BowlineException.Invalid> {
                        session.respond(request.requestId, PermissionAnswer.Choose("no such option"))
                    }
                    session.respond(request.requestId, PermissionAnswer.Choose(option.id))
                    receipt.use { it.waitUntilSettled() }
                    val answered = session.permissions().first { it.requestId == request.requestId }
                    assertEquals(RequestState.ANSWERED, answered.state, dialect)
                    assertEquals(isAllowed, answered.isAllowed, dialect)
                }
            }
        }
    }

    @Test
    fun `dismissed request is denied`() = runTest {
        session(speaking("acp")) { session ->
            val receipt = session.send("/ask make test")
            val request = session.awaitPermissionRequest()
            session.respond(request.requestId, PermissionAnswer.Dismiss)
            receipt.use { it.waitUntilSettled() }
            assertEquals(false, session.permissions().first { it.requestId == request.requestId }.isAllowed)
        }
    }

    @Test
    fun `session tells what it can do`() = runTest {
        session(speaking("codex")) { session ->
            val supported = session.supported()
            assertTrue(supported.containsAll(listOf(Capability.STEER, Capability.EFFORT)), "$supported")
            session.setOption("effort", "high")
            assertThrowsBowline<BowlineException.Invalid> { session.setOption("no such option", "x") }
        }
    }

    @Test
    fun `unknown dialect is refused`() = runTest {
        assertThrowsBowline<BowlineException.Configuration> { engine.start(speaking("latin")) }
    }

    @Test
    fun `MCP servers reach the agent and one it cannot reach is refused by name`() = runTest {
        val files = McpServer("files", McpTransport.Stdio("/bin/mcp-files", listOf("-x"), mapOf("KEY" to "secret")))
        for (dialect in listOf("codex", "acp")) {
            val journal = temporaryDirectory().resolve("session.bjl")
            val configuration = speaking(dialect).copy(mcpServers = listOf(files), record = journal.toString())
            session(configuration) { it.send("hello").use { receipt -> receipt.waitUntilSettled() } }
            val input = String(Files.readAllBytes(journal), Charsets.ISO_8859_1)
            for (part in listOf("files", "/bin/mcp-files", "-x", "KEY", "secret")) {
                assertTrue("\"$part\"" in input, "$dialect: $part")
            }
        }
        val old = McpServer("old", McpTransport.Sse("https://localhost/mcp", mapOf("key" to "secret")))
        val again = McpServer("web", McpTransport.Http("https://localhost/mcp", mapOf()))
        for ((servers, reason) in listOf(
            listOf(old) to "the MCP server old over SSE",
            listOf(again, again) to "a second MCP server with the name web",
        )) {
            val refused = assertThrowsBowline<BowlineException> {
                engine.start(speaking("codex").copy(mcpServers = servers))
            }
            assertTrue(reason in refused.toString(), "$refused")
        }
    }
}
