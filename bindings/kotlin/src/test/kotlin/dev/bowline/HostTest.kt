// Tests: the example host
package dev.bowline

import dev.bowline.example.FileTokens
import dev.bowline.example.Host
import dev.bowline.example.HostSettings
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.CopyOnWriteArrayList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class HostTest {
    private val lines = CopyOnWriteArrayList<String>()

    private fun settings(runner: RunnerConfiguration? = null, rules: Path? = null) =
        HostSettings(temporaryDirectory(), understudy, listOf("--pace", "0"), rules, runner)

    @Test
    fun `example host continues its session at a runner`() = runTest {
        Runner().use { runner ->
            val settings = settings(runner.configuration)
            for (prompt in listOf("/tool ls", "/ask make test")) Host(settings) { lines += it }.run(prompt)
            assertTrue("-- hook PreToolUse" in lines, lines.toString())
            assertTrue("-- the last prompt was /tool ls" in lines, lines.toString())
            assertTrue(Files.size(settings.folder.resolve("output")) > 0)
            val client = engine.runner(runner.configuration)
            val session = client.sessions().single()
            assertEquals(RunnerSessionState.RUNNING, session.state)
            assertEquals("/ask make test", client.session(session.id).metadata)
            client.end(session.id)
        }
    }

    @Test
    fun `example host applies its rules and reports a failure`() = runTest {
        val rules = Files.writeString(temporaryDirectory().resolve("policy.toml"), "[[rule]]\ndecision = \"deny\"\ncommand = \"make *\"\n")
        val settings = settings(rules = rules)
        for (prompt in listOf("/ask make test", "/error")) Host(settings) { lines += it }.run(prompt)
        assertTrue("-- hook PreToolUse" in lines, lines.toString())
        val report = lines.single { it.startsWith("-- report in ") }.removePrefix("-- report in ")
        engine.openRecording(report).use { recording -> assertTrue("\"is_error\":true" in recording.snapshot().json()) }
        assertTrue(lines.none { it.startsWith("-- Bash") }, lines.toString())
    }

    @Test
    fun `token of a missing file is an error`() {
        val file = temporaryDirectory().resolve("token")
        val error = assertThrowsBowline<BowlineException.Host> { FileTokens(file).token(false) }
        assertTrue(file.toString() in error.reason, error.reason)
        Files.writeString(file, "secret\n")
        assertEquals("secret", FileTokens(file).token(true))
    }
}
