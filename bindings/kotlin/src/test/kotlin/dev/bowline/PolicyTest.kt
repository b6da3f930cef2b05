// Tests: DialogueSession
package dev.bowline

import java.nio.file.Files
import kotlin.io.path.absolutePathString
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class PolicyTest {
    private val rules = """
        [[rule]]
        name = "make"
        decision = "allow"
        command = "make *"
        [[rule]]
        decision = "deny"
        command = "rm *"
        message = "keep it"
    """.trimIndent()

    @Test
    fun `rules answer before the host is asked`() = runTest {
        val file = Files.writeString(temporaryDirectory().resolve("policy.toml"), rules)
        for (source in listOf(PolicySource.Text(rules), PolicySource.File(file.absolutePathString()))) {
            session(configuration().copy(policy = source)) { session ->
                for (command in listOf("make test", "rm x")) {
                    session.send("/ask $command").use { assertEquals(ReceiptState.ANSWERED, it.waitUntilSettled()) }
                }
                val records = session.permissions()
                assertEquals(listOf("policy", "policy"), records.map { it.answeredBy })
                assertEquals(listOf(true, false), records.map { it.isAllowed })
                assertTrue(records[0].answeredHow!!.startsWith("rule \"make\" in "), records[0].answeredHow)
                val decided = session.until { it.results().size == 2 }.permissions.map { it.decidedBy?.who }
                assertEquals(listOf("policy", "policy"), decided)
                // Appended to an allowed command, the host is asked.
                session.send("/ask make test; true").use {
                    session.deny(session.awaitPermissionRequest().requestId, "no")
                    it.waitUntilSettled()
                }
            }
        }
    }

    @Test
    fun `policy that cannot be read is refused at the start`() = runTest {
        val text = PolicySource.Text("[[rule]]\ndecison = \"allow\"")
        val error = assertThrowsBowline<BowlineException.Configuration> {
            engine.start(configuration().copy(policy = text)).close()
        }
        assertTrue("line 2: `decison` is unknown; did you mean `decision`?" in error.reason, error.reason)
        assertThrowsBowline<BowlineException.Configuration> {
            engine.start(configuration().copy(policy = PolicySource.File("/nonexistent"))).close()
        }
    }
}
